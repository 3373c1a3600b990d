// regimen/rule/as_fits_precision.hpp — As<T, ...> and Precision agree on fp64.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::rule {

/// Mixing fp64 with narrower types would round weights twice, or lose digits that fp64 computed.
/// docs/errors/precision.md#as_fits_precision
template <class T, class Precision>
struct as_fits_precision {
  static constexpr bool holds = std::is_same_v<T, fp64> == std::is_same_v<typename Precision::master, fp64>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: As<T, ...> mixes fp64 with narrower types; compute all of the model in Precision<fp64>, or none");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
