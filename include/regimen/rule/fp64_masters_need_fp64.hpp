// regimen/rule/fp64_masters_need_fp64.hpp — fp64 master weights need fp64 products.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::rule {

/// No narrower product reads fp64 weights, so they would gain nothing.
/// docs/errors/precision.md#fp64_masters_need_fp64
template <class Precision>
struct fp64_masters_need_fp64 {
  static constexpr bool holds =
      std::is_same_v<typename Precision::compute, fp64> || !std::is_same_v<typename Precision::master, fp64>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Precision<..., fp64> serves fp64 products alone; write Precision<..., fp32>, or Precision<fp64>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
