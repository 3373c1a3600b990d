// regimen/rule/layers.hpp — rules about arguments of layers: numbers, types and lists in their templates.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/layer/in_order.hpp>
#include <regimen/rule/rule_list.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// Count: the layers of List, with those of nested sequences and composites; of a Fork, 0 if a branch has none.
///   docs/errors/layers.md#layers_one_to_255
template <class List, std::size_t Count>
struct layers_one_to_255 {
  static constexpr bool holds = Count >= 1 && Count <= 255;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Model, Residual, Fork and Repeat hold 1 to 255 layers; write at least one, or write equal ones as Repeat");
  };
};

/// Levels: how deep lists of layers nest; the model is the first level, and each Residual, Fork or Repeat adds one.
/// docs/errors/layers.md#levels_at_most_7
template <class Network, std::size_t Levels>
struct levels_at_most_7 {
  static constexpr bool holds = Levels <= 7;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Residuals, Forks and Repeats stand in each other more than 6 deep; write the inner ones side by side");
  };
};

/// The layer before it gives its inputs.   docs/errors/layers.md#linear_takes_one_width
template <class Layer>
struct linear_takes_one_width {
  static constexpr bool holds = never<Layer>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Linear<N> takes its outputs alone, and its inputs from what stands before it; write one number, or Linear<N, NoBias>");
  };
};

/// Layer has one width, and at most NoBias besides.   docs/errors/layers.md#recurrent_takes_option
template <class Layer>
struct recurrent_takes_option {
  static constexpr bool holds = Layer::takes_options;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Lstm<N> and Gru<N> take the width of their output, then at most NoBias; write no other option");
  };
};

/// Kept elements are divided by 1 − Rate. fraction_is_a_ratio refuses a Rate that is no Ratio.
/// docs/errors/layers.md#rate_below_one
template <class Rate>
struct rate_below_one {
  static constexpr bool holds = !is_ratio<Rate> || is_share<Rate>;
  struct must_hold {
    static_assert(holds, "regimen: Dropout<Ratio<...>> drops at least 0 and less than 1; write Dropout<Ratio<1, 10>>");
  };
};

/// Whether Option is one of those that Chosen, such as detail::attention_options, reads.
template <template <class...> class Chosen, class Option>
inline constexpr bool is_among = std::is_base_of_v<Chosen<>, Chosen<Option>>;
/// Whether no two options are of one kind, of which one would be ignored; of others than these another rule speaks.
template <template <class...> class Chosen, class... Options>
inline constexpr bool options_differ = detail::types_in_order<Options...>::sound || !(is_among<Chosen, Options> && ...);
/// The rules about the number of an option.   Layer: what other numbers of the layer they need
template <class Option, class Layer = void>
struct rules_of_option : RuleList<> {};

/// std::ratio has members of other names.   docs/errors/layers.md#fraction_is_a_ratio
template <class Fraction>
struct fraction_is_a_ratio {
  static constexpr bool holds = is_ratio<Fraction>;
  struct must_hold {
    static_assert(holds, "regimen: this fraction is no regimen::Ratio; write Ratio<1, 10> for a tenth");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
