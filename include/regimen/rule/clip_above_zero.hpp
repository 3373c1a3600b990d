// regimen/rule/clip_above_zero.hpp — a bound of Clip is above zero.
#pragma once

namespace regimen::rule {

/// A bound of zero turns every gradient into zero; a denominator of zero gives no number.
/// docs/errors/steps.md#clip_above_zero
template <class Clip>
struct clip_above_zero {
  static constexpr bool holds = !Clip::clips || Clip::bound > 0.0f;
  struct must_hold {
    static_assert(holds, "regimen: Clip<Norm<Ratio<...>>> needs a bound above zero; write Clip<Norm<Ratio<1>>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
