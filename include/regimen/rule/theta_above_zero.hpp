// regimen/rule/theta_above_zero.hpp — the base of rotary frequencies is a Ratio above zero.
#pragma once

#include <regimen/core/ratio.hpp>

namespace regimen::rule {

/// Pairs of channels turn by powers of it.   docs/errors/attention.md#theta_above_zero
template <class Theta>
struct theta_above_zero {
  static constexpr bool holds = [] {
    if constexpr (is_ratio<Theta>) return Theta::value > 0;
    else return false;
  }();
  struct must_hold {
    static_assert(holds, "regimen: Rotary<Theta> takes a Ratio above zero; write Rotary<>, or Rotary<Ratio<500'000>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
