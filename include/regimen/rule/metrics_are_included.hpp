// regimen/rule/metrics_are_included.hpp — a program that measures includes what measures.
#pragma once

namespace regimen::rule {

/// Trainers know nothing of metrics, so that programs without any do not pay for them.
/// docs/errors/fit.md#metrics_are_included
template <class Metric, bool are_included>
struct metrics_are_included {
  static constexpr bool holds = are_included;
  struct must_hold {
    static_assert(
        holds, "regimen: a metric needs regimen/watch/metrics.hpp, which is not included here; include it before this");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
