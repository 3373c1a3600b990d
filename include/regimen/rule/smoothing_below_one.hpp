// regimen/rule/smoothing_below_one.hpp — label smoothing is below one.
#pragma once

#include <regimen/core/ratio.hpp>

namespace regimen::rule {

/// The label has the probability 1 − Smoothing; a loss with negative probabilities has no minimum. fraction_is_a_ratio
/// refuses a Smoothing that is no Ratio.
/// docs/errors/losses.md#smoothing_below_one
template <class Smoothing>
struct smoothing_below_one {
  static constexpr bool holds = true;
};
template <class Smoothing>
  requires is_ratio<Smoothing>
struct smoothing_below_one<Smoothing> {
  static constexpr bool holds = Smoothing::denominator != 0 && Smoothing::value >= 0 && Smoothing::value < 1;
  struct must_hold {
    static_assert(
        holds, "regimen: SmoothedCrossEntropy<Ratio<...>> smooths by at least 0 and less than 1; write Ratio<1, 10>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
