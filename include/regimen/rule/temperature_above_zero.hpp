// regimen/rule/temperature_above_zero.hpp — similarities are divided by a temperature above zero.
#pragma once

#include <regimen/core/ratio.hpp>

namespace regimen::rule {

/// fraction_is_a_ratio refuses a Temperature that is no Ratio.   docs/errors/losses.md#temperature_above_zero
template <class Temperature>
struct temperature_above_zero {
  static constexpr bool holds = true;
};
template <class Temperature>
  requires is_ratio<Temperature>
struct temperature_above_zero<Temperature> {
  static constexpr bool holds = Temperature::value > 0;
  struct must_hold {
    static_assert(holds, "regimen: NtXent<Ratio<...>> divides by a temperature above zero; write NtXent<Ratio<1, 2>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
