// regimen/rule/metric_is_copied.hpp — a metric of fit can be copied.
#pragma once

namespace regimen::rule {

/// fit measures training by the metric, and each evaluation by a copy of it.   docs/errors/metrics.md#metric_is_copied
template <class Metric, bool is_copied>
struct metric_is_copied {
  static constexpr bool holds = is_copied;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fit copies a metric for its evaluations, and this one cannot be copied; make it so, or give it to evaluate");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
