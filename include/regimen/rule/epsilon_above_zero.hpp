// regimen/rule/epsilon_above_zero.hpp — the epsilon of a norm is a Ratio above zero.
#pragma once

#include <regimen/core/ratio.hpp>

namespace regimen::rule {

/// Without it, a row of equal elements would be divided by zero.   docs/errors/norms.md#epsilon_above_zero
template <class Value>
struct epsilon_above_zero {
  static constexpr bool holds = [] {
    if constexpr (is_ratio<Value>) return Value::value > 0;
    else return false;
  }();
  struct must_hold {
    static_assert(holds, "regimen: Epsilon<...> takes a Ratio above zero; write Epsilon<Ratio<1, 1'000'000>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
