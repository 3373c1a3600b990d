// regimen/rule/momentum_in_range.hpp — the momentum of running statistics is a share.
#pragma once

#include <regimen/core/ratio.hpp>

namespace regimen::rule {

/// With 0 the statistics would never move; above 1 they would leave what they average.
/// docs/errors/norms.md#momentum_in_range
template <class Value>
struct momentum_in_range {
  static constexpr bool holds = [] {
    if constexpr (is_ratio<Value>) return Value::value > 0 && Value::value <= 1;
    else return false;
  }();
  struct must_hold {
    static_assert(
        holds, "regimen: Momentum<...> is the new batch's share, above 0 and at most 1; write Momentum<Ratio<1, 10>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
