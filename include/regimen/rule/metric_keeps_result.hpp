// regimen/rule/metric_keeps_result.hpp — a metric of evaluate is still there afterwards.
#pragma once

namespace regimen::rule {

/// Whoever calls evaluate reads the result in the metric.   docs/errors/metrics.md#metric_keeps_result
template <class Metric, bool stays>
struct metric_keeps_result {
  static constexpr bool holds = stays;
  struct must_hold {
    static_assert(holds,
                  "regimen: evaluate leaves its result in the metric, and this one is a temporary; pass a variable");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
