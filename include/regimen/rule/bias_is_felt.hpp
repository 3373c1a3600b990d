// regimen/rule/bias_is_felt.hpp — no bias directly before BatchNorm.
#pragma once

namespace regimen::rule {

/// The mean of the batch takes it off again, and its gradient is zero: it costs memory, and says nothing.
/// Felt: whether the layer before has no bias, or Norm says AfterBias.   docs/errors/norms.md#bias_is_felt
template <class Layer, class Norm, bool Felt>
struct bias_is_felt {
  static constexpr bool holds = Felt;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a bias before BatchNorm has no effect, as the mean takes it off; write NoBias, or BatchNorm<AfterBias>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
