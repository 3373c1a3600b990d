// regimen/rule/layer_rules.hpp — the rules of each kind of layer about its input.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/layer_scale.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/layer/sinusoidal_positions.hpp>
#include <regimen/layer/slice.hpp>
#include <regimen/layer/window.hpp>
#include <regimen/rule/branches.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/layers.hpp>
#include <regimen/rule/model_layers.hpp>
#include <regimen/rule/models.hpp>
#include <regimen/rule/norms.hpp>
#include <regimen/rule/shapes.hpp>
#include <regimen/rule/texts.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

template <std::size_t Width, class X>
struct layer_rules<Linear<Width>, X>
    : RuleList<input_matches<X, Linear<Width>>, extents_at_least_one<Linear<Width>, Width>> {};
template <std::size_t Width, auto Second, auto... More, class X>
struct layer_rules<Linear<Width, Second, More...>, X>
    : RuleList<linear_takes_one_width<Linear<Width, Second, More...>>> {};
template <std::size_t Width, class X>
struct layer_rules<Linear<Width, NoBias>, X>
    : RuleList<input_matches<X, Linear<Width, NoBias>>, extents_at_least_one<Linear<Width, NoBias>, Width>> {};
template <class Words, std::size_t Channels, class... End, class X>
struct layer_rules<Embedding<Words, Channels, End...>, X> {
  using Layer = Embedding<Words, Channels, End...>;
  using type = mp::mp_list<
      input_matches<X, Layer, std::is_integral_v<typename X::Element>>,
      extents_at_least_one<Layer, Words::size, Channels>, embedding_takes_option<Layer, sizeof...(End) <= 1>,
      mp::mp_if_c<is_padded_with<End>, padding_is_a_token<End, Words::size>, embedding_takes_option<End, false>>...>;
};
template <class Rate, class X>
struct layer_rules<Dropout<Rate>, X>
    : RuleList<input_matches<X, Dropout<Rate>>, fraction_is_a_ratio<Rate>, rate_below_one<Rate>> {};
/// Of a layer that takes numbers, for each position. Tokens, which have no channels yet, are one mistake.
template <class Layer, class X, std::size_t most_axes = 2>
struct position_rules
    : RuleList<
          std::conditional_t<Number<typename X::Element>, layer_takes_positions<Layer, typename X::Shape, most_axes>,
                             input_matches<X, Layer>>> {};
template <class Layer, std::size_t Width, class X>
struct recurrent_rules : RuleList<mp::mp_front<typename position_rules<Layer, X>::type>, recurrent_takes_option<Layer>,
                                  extents_at_least_one<Layer, Width>> {};
template <std::size_t Width, auto... More, class X>
struct layer_rules<Lstm<Width, More...>, X> : recurrent_rules<Lstm<Width, More...>, Width, X> {};
template <std::size_t Width, auto... More, class X>
struct layer_rules<Gru<Width, More...>, X> : recurrent_rules<Gru<Width, More...>, Width, X> {};
template <class Layer, class X>
  requires detail::is_any_of<Layer, PositionEmbedding, SinusoidalPositions, ClassToken, TakeFirst>
struct layer_rules<Layer, X> : position_rules<Layer, X> {};
template <class Order, class X>
struct layer_rules<SinusoidalPositionsWith<Order>, X> : position_rules<SinusoidalPositionsWith<Order>, X> {};
template <class X>
struct layer_rules<MeanPool, X> : position_rules<MeanPool, X, 4> {};
template <class Layer, class X>
  requires detail::HasOptions<Layer, detail::GlobalPoolOptions>
struct layer_rules<Layer, X> : position_rules<Layer, X, 4> {};
template <class Rate, class X>
struct layer_rules<DropPath<Rate>, X>
    : RuleList<input_matches<X, DropPath<Rate>>, fraction_is_a_ratio<Rate>, rate_below_one<Rate>> {};
template <class Initial, class X>
struct layer_rules<LayerScale<Initial>, X>
    : RuleList<input_matches<X, LayerScale<Initial>>, fraction_is_a_ratio<Initial>> {};
template <class Words, std::size_t Channels, class... End, class X>
struct layer_rules<TiedLinear<Embedding<Words, Channels, End...>>, X> {
  using Layer = TiedLinear<Embedding<Words, Channels, End...>>;
  using type = mp::mp_list<input_matches<X, Layer>, inner_extent_matches<Shape<X::rows, Channels>, typename X::Shape>>;
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
