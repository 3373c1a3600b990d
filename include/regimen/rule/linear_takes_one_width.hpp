// regimen/rule/linear_takes_one_width.hpp — Linear takes its number of outputs alone.
#pragma once

namespace regimen::rule {

/// The layer before it gives its inputs.   docs/errors/layers.md#linear_takes_one_width
template <class Linear, bool One = false>
struct linear_takes_one_width {
  static constexpr bool holds = One;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Linear<N> takes its outputs alone, and its inputs from what stands before it; write one number, or Linear<N, NoBias>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
