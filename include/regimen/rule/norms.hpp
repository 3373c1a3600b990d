// regimen/rule/norms.hpp — rules of norms, and of layers beside them.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/group_norm.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/rule/layers.hpp>
#include <regimen/rule/model_layers.hpp>
#include <regimen/rule/shapes.hpp>

#include <cstddef>

namespace regimen::rule {

/// Holds: whether Option is one of BatchNorm's, or, of a BatchNorm, whether it has each at most once.
/// docs/errors/norms.md#batch_norm_takes_option
template <class Option, bool Holds = is_among<detail::batch_norm_options, Option>>
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
  static constexpr bool holds = is_above_zero<Value> && requires { requires Value::value <= 1; };
  struct must_hold {
    static_assert(
        holds, "regimen: Momentum<...> is the new batch's share, above 0 and at most 1; write Momentum<Ratio<1, 10>>");
  };
};

/// Without it, a row of equal elements would be divided by zero.   docs/errors/norms.md#epsilon_above_zero
template <class Value>
struct epsilon_above_zero {
  static constexpr bool holds = is_above_zero<Value>;
  struct must_hold {
    static_assert(holds, "regimen: Epsilon<...> takes a Ratio above zero; write Epsilon<Ratio<1, 1'000'000>>");
  };
};

/// Holds: whether Option is one of GroupNorm's, or, of a GroupNorm, whether it has each at most once.
/// docs/errors/norms.md#group_norm_takes_option
template <class Option, bool Holds = is_among<detail::group_norm_options, Option>>
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

/// Whether a layer ends with a bias.
template <class Layer>
inline constexpr bool ends_with_bias = false;
template <std::size_t Width>
inline constexpr bool ends_with_bias<Linear<Width>> = true;
template <detail::IsConvolution Layer>
inline constexpr bool ends_with_bias<Layer> = Layer::options.bias;
template <detail::InSequence Layer>
inline constexpr bool ends_with_bias<Layer> = ends_with_bias<detail::last_child<Layer>>;
// Where one branch alone has a bias, it stands beside something else, as in a Residual.
template <class First, class... Others>
inline constexpr bool ends_with_bias<Fork<Add, First, Others...>> =
    ends_with_bias<First> && (ends_with_bias<Others> && ...);
/// The mean of the batch takes it off again, and its gradient is zero: it costs memory, and says nothing.
/// Layer: the one before Norm, a BatchNorm.   docs/errors/norms.md#bias_is_felt
template <class Layer, class Norm>
struct bias_is_felt {
  static constexpr bool holds = Norm::Chosen::after_bias || !ends_with_bias<Layer>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a bias before BatchNorm has no effect, as the mean takes it off; write NoBias, or BatchNorm<AfterBias>");
  };
};

/// The rules of two neighbours: that of the BatchNorm with which the second begins.
template <class Before, class... Rest>
struct neighbour_rules : RuleList<> {};
template <class Before, class... Options, class... Rest>
struct neighbour_rules<Before, in_order::BatchNorm<Options...>, Rest...>
    : RuleList<bias_is_felt<Before, in_order::BatchNorm<Options...>>> {};
template <class Before, detail::InSequence Next, class... Rest>
struct neighbour_rules<Before, Next, Rest...> : neighbour_rules<Before, detail::first_child<Next>> {};
/// With the statistics of earlier steps nothing takes a bias off.
template <class Before, class... Layers, class... Rest>
struct neighbour_rules<Before, Frozen<KeepStatistics, Layers...>, Rest...> : RuleList<> {};
/// Those of a block's end and the beginning of its next iteration.
template <std::size_t Count, class Block>
struct iteration_rules : neighbour_rules<Block, Block> {};
template <class Block>
struct iteration_rules<1, Block> : neighbour_rules<Block> {};

template <class Value>
struct rules_of_option<Epsilon<Value>> : RuleList<epsilon_above_zero<Value>> {};
template <class Value>
struct rules_of_option<Momentum<Value>> : RuleList<momentum_in_range<Value>> {};
/// Chosen   reads the layer's options; of others than these another rule speaks
template <template <class...> class Chosen, class Layer, class X, class... Options>
using norm_rules =
    mp::mp_append<mp::mp_list<input_matches<X, Layer>>,
                  typename mp::mp_if_c<is_among<Chosen, Options>, rules_of_option<Options>, RuleList<>>::type...>;
template <class Value, class X>
struct layer_rules<in_order::LayerNormWith<Epsilon<Value>>, X>
    : RuleList<input_matches<X, in_order::LayerNormWith<Epsilon<Value>>>, epsilon_above_zero<Value>> {};
template <class Value, class X>
struct layer_rules<in_order::RmsNormWith<Epsilon<Value>>, X>
    : RuleList<input_matches<X, in_order::RmsNormWith<Epsilon<Value>>>, epsilon_above_zero<Value>> {};
template <class... Options, class X>
struct layer_rules<in_order::BatchNorm<Options...>, X> {
  using Layer = in_order::BatchNorm<Options...>;
  using type = mp::mp_push_back<norm_rules<detail::batch_norm_options, Layer, X, Options...>,
                                batch_norm_takes_option<Layer, options_differ<detail::batch_norm_options, Options...>>,
                                batch_norm_takes_option<Options>...>;
};
template <std::size_t Groups, class... Options, class X>
struct layer_rules<in_order::GroupNorm<Groups, Options...>, X> {
  using Layer = in_order::GroupNorm<Groups, Options...>;
  using type = mp::mp_push_back<norm_rules<detail::group_norm_options, Layer, X, Options...>,
                                norm_groups_divide_channels<Layer, Groups, typename X::Shape>,
                                group_norm_takes_option<Layer, options_differ<detail::group_norm_options, Options...>>,
                                group_norm_takes_option<Options>...>;
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
