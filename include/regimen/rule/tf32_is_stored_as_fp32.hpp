// regimen/rule/tf32_is_stored_as_fp32.hpp — tf32 is a way to read fp32, not an element type of weights or gradients.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::rule {

/// Weights of 10 bits of mantissa would lose the updates that fp32 masters keep.
/// docs/errors/precision.md#tf32_is_stored_as_fp32
template <class Precision>
struct tf32_is_stored_as_fp32 {
  static constexpr bool holds =
      !std::is_same_v<typename Precision::master, tf32> && !std::is_same_v<typename Precision::reduce, tf32>;
  struct must_hold {
    static_assert(holds, "regimen: products read tf32, and nothing is stored in it; write Precision<tf32>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
