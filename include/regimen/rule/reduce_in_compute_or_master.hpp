// regimen/rule/reduce_in_compute_or_master.hpp — Reduce is Compute or Master.
#pragma once

#include <regimen/policy/policy.hpp>

namespace regimen::rule {

/// A third type would add a rounding without need.   docs/errors/precision.md#reduce_in_compute_or_master
template <class Precision>
struct reduce_in_compute_or_master {
  static constexpr bool holds =
      detail::is_any_of<typename Precision::reduce, typename Precision::compute, typename Precision::master>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Precision<..., ..., Reduce> sums gradients in Compute or Master; name one, or leave Reduce out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
