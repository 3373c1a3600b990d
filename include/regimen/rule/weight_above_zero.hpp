// regimen/rule/weight_above_zero.hpp — the weight of a loss.
#pragma once

#include <regimen/core/ratio.hpp>

namespace regimen::rule {

/// A loss of weight 0 computes gradients of 0, one below 0 is maximised.   docs/errors/losses.md#weight_above_zero
template <class Weight>
struct weight_above_zero {
  static constexpr bool holds = true;
};
template <class Weight>
  requires is_ratio<Weight>
struct weight_above_zero<Weight> {
  static constexpr bool holds = Weight::value > 0;
  struct must_hold {
    static_assert(holds,
                  "regimen: the weight of a loss is above 0; write Weighted<Loss, Ratio<1, 2>>, or leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
