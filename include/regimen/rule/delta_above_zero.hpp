// regimen/rule/delta_above_zero.hpp — the bound of Huber's loss is above zero.
#pragma once

#include <regimen/core/ratio.hpp>

namespace regimen::rule {

/// With zero the loss is zero everywhere. fraction_is_a_ratio refuses a Delta that is no Ratio.
/// docs/errors/losses.md#delta_above_zero
template <class Delta>
struct delta_above_zero {
  static constexpr bool holds = true;
};
template <class Delta>
  requires is_ratio<Delta>
struct delta_above_zero<Delta> {
  static constexpr bool holds = Delta::value > 0;
  struct must_hold {
    static_assert(holds, "regimen: Huber<Ratio<...>> is quadratic up to a bound above zero; write Huber<Ratio<1>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
