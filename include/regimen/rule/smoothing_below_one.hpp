// regimen/rule/smoothing_below_one.hpp — the target keeps a share of its own.
#pragma once

#include <regimen/core/ratio.hpp>

namespace regimen::rule {

/// The target has the share 1 − Smoothing, and a loss of negative shares has no minimum. What is no Ratio is for fraction_is_a_ratio to refuse.
/// docs/errors/smoothing_below_one.md
template <class Smoothing>
struct smoothing_below_one {
  static constexpr bool holds = true;
};
template <class Smoothing>
  requires is_ratio<Smoothing>
struct smoothing_below_one<Smoothing> {
  static constexpr bool holds = Smoothing::denominator != 0 && Smoothing::value >= 0 && Smoothing::value < 1;
  struct must_hold {
    static_assert(holds, "regimen: SmoothedCrossEntropy<Ratio<...>> smooths by at least 0 and less than 1; write Ratio<1, 10>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
