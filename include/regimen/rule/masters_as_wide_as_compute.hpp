// regimen/rule/masters_as_wide_as_compute.hpp — master weights are at least as wide as Compute.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::rule {

/// Precision<fp64, fp32> would round every fp64 update to fp32.   docs/errors/precision.md#masters_as_wide_as_compute
template <class Precision>
struct masters_as_wide_as_compute {
  static constexpr bool holds =
      !std::is_same_v<typename Precision::compute, fp64> || !std::is_same_v<typename Precision::master, fp32>;
  struct must_hold {
    static_assert(holds, "regimen: Precision<fp64, ...> keeps fp64 weights; write Precision<fp64>, or Precision<fp32>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
