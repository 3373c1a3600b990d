// regimen/rule/norms.hpp — rules. Norms: their options, groups, and biases before them.
#pragma once

#include <regimen/core/ratio.hpp>

#include <cstddef>

namespace regimen::rule {

/// Holds: whether Option is one of BatchNorm's, or, of a BatchNorm, whether it has each at most once.
/// docs/errors/norms.md#batch_norm_takes_option
template <class Option, bool Holds>
struct batch_norm_takes_option {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(
        holds,
        "regimen: BatchNorm takes Epsilon, Momentum, PerMicroBatch, OverRanks, AfterBias, each at most once; write no other");
  };
};

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

/// Holds: whether Option is one of GroupNorm's, or, of a GroupNorm, whether it has each at most once.
/// docs/errors/norms.md#group_norm_takes_option
template <class Option, bool Holds>
struct group_norm_takes_option {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(holds, "regimen: GroupNorm<N> takes Epsilon<...> at most once; write no other option");
  };
};

/// GroupNorm cuts the channels of Input, a shape, into Groups equal groups.
/// docs/errors/norms.md#norm_groups_divide_channels
template <class Layer, std::size_t Groups, class Input>
struct norm_groups_divide_channels {
  static constexpr bool holds = Groups >= 1 && Input::columns % (Groups >= 1 ? Groups : 1) == 0;
  struct must_hold {
    static_assert(holds,
                  "regimen: GroupNorm<N> cuts the channels into N equal groups; write an N that divides the channels");
  };
};

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
