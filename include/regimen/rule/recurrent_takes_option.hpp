// regimen/rule/recurrent_takes_option.hpp — no option of Lstm or Gru is ignored.
#pragma once

namespace regimen::rule {

/// Holds: whether Layer has one width, and at most NoBias besides.   docs/errors/layers.md#recurrent_takes_option
template <class Layer, bool Holds>
struct recurrent_takes_option {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Lstm<N> and Gru<N> take the width of their output, then at most NoBias; write no other option");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
