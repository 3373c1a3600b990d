// regimen/rule/measured_needs_metric.hpp — who hears what metrics find needs a metric.
#pragma once

namespace regimen::rule {

/// Callback hears Measured alone; has_metric: fit was given a metric.   docs/errors/metrics.md#measured_needs_metric
template <class Callback, bool has_metric>
struct measured_needs_metric {
  static constexpr bool holds = has_metric;
  struct must_hold {
    static_assert(holds,
                  "regimen: this callback hears Measured, and fit was given no metric; add one, such as Accuracy{}");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
