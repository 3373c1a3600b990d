// regimen/rule/rate_below_one.hpp — a dropout rate is below one.
#pragma once

#include <regimen/core/ratio.hpp>

namespace regimen::rule {

/// Kept elements are divided by 1 − Rate. fraction_is_a_ratio refuses a Rate that is no Ratio.
/// docs/errors/layers.md#rate_below_one
template <class Rate>
struct rate_below_one {
  static constexpr bool holds = true;
};
template <class Rate>
  requires is_ratio<Rate>
struct rate_below_one<Rate> {
  static constexpr bool holds = Rate::denominator != 0 && Rate::value >= 0 && Rate::value < 1;
  struct must_hold {
    static_assert(holds, "regimen: Dropout<Ratio<...>> drops at least 0 and less than 1; write Dropout<Ratio<1, 10>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
