// regimen/rule/layer_rules.hpp — the rules of each kind of layer about its input.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/group_norm.hpp>
#include <regimen/layer/layer_scale.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/padding.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/layer/sinusoidal_positions.hpp>
#include <regimen/layer/slice.hpp>
#include <regimen/rule/branches.hpp>
#include <regimen/rule/compose.hpp>
#include <regimen/rule/layers.hpp>
#include <regimen/rule/model_layers.hpp>
#include <regimen/rule/models.hpp>
#include <regimen/rule/norms.hpp>
#include <regimen/rule/shapes.hpp>
#include <regimen/rule/texts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// A layer's rules about its input. A user's layer may add `template <class X> using rules = mp_list<...>`.
template <class Layer, class X>
struct layer_rules {
  using type = mp::mp_list<input_matches<X, Layer, Number<typename X::Element>>>;
};
template <class Layer, class X>
  requires requires { typename Layer::template rules<X>; }
struct layer_rules<Layer, X> {
  using type = typename Layer::template rules<X>;
};
template <std::size_t Width, class X>
struct layer_rules<Linear<Width>, X> {
  using type = mp::mp_list<input_matches<X, Linear<Width>, Number<typename X::Element>>,
                           extents_at_least_one<Linear<Width>, Width>>;
};
template <std::size_t Width, auto Second, auto... More, class X>
struct layer_rules<Linear<Width, Second, More...>, X> {
  using type = mp::mp_list<linear_takes_one_width<Linear<Width, Second, More...>>>;
};
template <std::size_t Width, class X>
struct layer_rules<Linear<Width, NoBias>, X> {
  using type = mp::mp_list<input_matches<X, Linear<Width, NoBias>, Number<typename X::Element>>,
                           extents_at_least_one<Linear<Width, NoBias>, Width>>;
};
template <class Option>
inline constexpr bool is_padded_with = false;
template <std::int32_t Token>
inline constexpr bool is_padded_with<PaddedWith<Token>> = true;
template <class Words, class Option>
inline constexpr bool is_padding_of =
    detail::padding_token<Option> >= 0 && detail::padding_token<Option> < std::int64_t(Words::size);
template <class Words, std::size_t Channels, class... End, class X>
struct layer_rules<Embedding<Words, Channels, End...>, X> {
  using Layer = Embedding<Words, Channels, End...>;
  using type = mp::mp_list<input_matches<X, Layer, std::is_integral_v<typename X::Element>>,
                           extents_at_least_one<Layer, Words::size, Channels>,
                           embedding_takes_option<Layer, sizeof...(End) <= 1>,
                           embedding_takes_option<End, is_padded_with<End>>...,
                           padding_is_a_token<End, Words::size, !is_padded_with<End> || is_padding_of<Words, End>>...>;
};
template <class Rate, class X>
struct layer_rules<Dropout<Rate>, X> {
  using type = mp::mp_list<input_matches<X, Dropout<Rate>, Number<typename X::Element>>, fraction_is_a_ratio<Rate>,
                           rate_below_one<Rate>>;
};
template <class Value, class X>
struct layer_rules<in_order::LayerNormWith<Epsilon<Value>>, X> {
  using type = mp::mp_list<input_matches<X, in_order::LayerNormWith<Epsilon<Value>>, Number<typename X::Element>>,
                           epsilon_above_zero<Value>>;
};
template <class Value, class X>
struct layer_rules<in_order::RmsNormWith<Epsilon<Value>>, X> {
  using type = mp::mp_list<input_matches<X, in_order::RmsNormWith<Epsilon<Value>>, Number<typename X::Element>>,
                           epsilon_above_zero<Value>>;
};
template <class Layer, std::size_t extent, std::size_t Begin, std::size_t Count, class X>
using part_rules = mp::mp_list<input_matches<X, Layer, !detail::is_bundle<typename X::Element>>,
                               slice_fits_extent<Layer, typename X::Shape, extent, Begin, Count>>;
template <std::size_t axis, std::size_t Begin, std::size_t Count, class X>
struct layer_rules<SliceAlong<axis, Begin, Count>, X> {
  using type = part_rules<SliceAlong<axis, Begin, Count>, X::Shape::extent(axis), Begin, Count, X>;
};
template <std::size_t Begin, std::size_t Count, class X>
struct layer_rules<Slice<Begin, Count>, X> {
  using type = part_rules<Slice<Begin, Count>, X::columns, Begin, Count, X>;
};
template <std::size_t I, class X>
struct layer_rules<Part<I>, X> {
  using type = mp::mp_list<part_of_a_bundle<X, Part<I>>>;
};
template <std::size_t I, class X>
  requires detail::is_bundle<typename X::Element>
struct layer_rules<Part<I>, X> {
  using type = mp::mp_list<bundle_has_part<Part<I>, X, I, X::Element::count>>;
};
template <class Layer, class Name, class Found, class X>
using named_layer_rules =
    mp::mp_if<std::is_void<typename detail::shape_of_name<Name>::type>, mp::mp_list<name_declares_shape<Name>>,
              mp::mp_list<input_matches<X, Layer, Number<typename X::Element>>,
                          named_value_has_its_shape<Layer, Found, typename detail::shape_of_name<Name>::type>>>;
template <class Name, class X>
struct layer_rules<Keep<Name>, X> {
  using type = named_layer_rules<Keep<Name>, Name, typename X::Shape, X>;
};
template <class Name, class End, class X>
struct layer_rules<KeepLength<Name, End>, X> {
  static constexpr std::size_t positions = detail::positions_of<Name>;
  static constexpr bool reads_tokens = std::is_integral_v<typename X::Element>;
  using type = mp::mp_list<
      within_names_length<Name, (positions > 0)>, input_matches<X, KeepLength<Name, End>, reads_tokens>,
      length_counts_its_text<KeepLength<Name, End>, (positions > 0 && reads_tokens ? X::size : positions), positions>>;
};
template <class Name, class X>
struct layer_rules<Read<Name>, X> {
  using type = named_layer_rules<Read<Name>, Name, typename detail::shape_of_name<Name>::type, X>;
};
/// An argument of BatchNorm: which option it is, and its rules.
template <class Option>
struct batch_norm_option {
  static constexpr unsigned kind = std::is_same_v<Option, PerMicroBatch> ? 0
                                   : std::is_same_v<Option, AfterBias>   ? 3
                                   : std::is_same_v<Option, OverRanks>   ? 4
                                                                         : 5;
  using rules = mp::mp_list<batch_norm_takes_option<Option, kind != 5>>;
};
template <class Value>
struct batch_norm_option<Epsilon<Value>> {
  static constexpr unsigned kind = 1;
  using rules = mp::mp_list<epsilon_above_zero<Value>>;
};
template <class Value>
struct batch_norm_option<Momentum<Value>> {
  static constexpr unsigned kind = 2;
  using rules = mp::mp_list<momentum_in_range<Value>>;
};
/// Whether none of BatchNorm's options occurs twice.
template <class... Options>
constexpr bool batch_norm_options_differ() {
  std::array<unsigned, 6> counts{};
  ((++counts[batch_norm_option<Options>::kind]), ...);
  return std::all_of(counts.begin(), counts.end() - 1, [](unsigned count) { return count <= 1; });
}
template <class... Options, class X>
struct layer_rules<in_order::BatchNorm<Options...>, X> {
  using type = mp::mp_append<
      mp::mp_list<input_matches<X, in_order::BatchNorm<Options...>, Number<typename X::Element>>,
                  batch_norm_takes_option<in_order::BatchNorm<Options...>, batch_norm_options_differ<Options...>()>>,
      typename batch_norm_option<Options>::rules...>;
};
template <class Option>
struct group_norm_option {
  using rules = mp::mp_list<group_norm_takes_option<Option, false>>;
};
template <class Value>
struct group_norm_option<Epsilon<Value>> {
  using rules = mp::mp_list<epsilon_above_zero<Value>>;
};
template <std::size_t Groups, class... Options, class X>
struct layer_rules<in_order::GroupNorm<Groups, Options...>, X> {
  using type = mp::mp_append<
      mp::mp_list<input_matches<X, in_order::GroupNorm<Groups, Options...>, Number<typename X::Element>>,
                  norm_groups_divide_channels<in_order::GroupNorm<Groups, Options...>, Groups, typename X::Shape>>,
      typename group_norm_option<Options>::rules...,
      mp::mp_list<group_norm_takes_option<in_order::GroupNorm<Groups, Options...>, (sizeof...(Options) <= 1)>>>;
};
/// Of a layer that takes numbers, for each position. Tokens, which have no channels yet, are one mistake.
template <class Layer, class X, std::size_t most_axes = 2>
struct position_rules {
  using type = mp::mp_list<
      std::conditional_t<Number<typename X::Element>, layer_takes_positions<Layer, typename X::Shape, most_axes>,
                         input_matches<X, Layer, Number<typename X::Element>>>>;
};
template <class Layer, std::size_t Width, class X>
using recurrent_rules =
    mp::mp_list<mp::mp_front<typename position_rules<Layer, X>::type>,
                recurrent_takes_option<Layer, Layer::takes_options>, extents_at_least_one<Layer, Width>>;
template <std::size_t Width, auto... More, class X>
struct layer_rules<Lstm<Width, More...>, X> {
  using type = recurrent_rules<Lstm<Width, More...>, Width, X>;
};
template <std::size_t Width, auto... More, class X>
struct layer_rules<Gru<Width, More...>, X> {
  using type = recurrent_rules<Gru<Width, More...>, Width, X>;
};
template <class X>
struct layer_rules<PositionEmbedding, X> : position_rules<PositionEmbedding, X> {};
template <class X>
struct layer_rules<SinusoidalPositions, X> : position_rules<SinusoidalPositions, X> {};
template <class Order, class X>
struct layer_rules<SinusoidalPositionsWith<Order>, X> : position_rules<SinusoidalPositionsWith<Order>, X> {};
template <class X>
struct layer_rules<ClassToken, X> : position_rules<ClassToken, X> {};
template <class X>
struct layer_rules<TakeFirst, X> : position_rules<TakeFirst, X> {};
template <class X>
struct layer_rules<MeanPool, X> : position_rules<MeanPool, X, 4> {};
template <class X>
struct layer_rules<GlobalMaxPool, X> : position_rules<GlobalMaxPool, X, 4> {};
template <class Rate, class X>
struct layer_rules<DropPath<Rate>, X> {
  using type = mp::mp_list<input_matches<X, DropPath<Rate>, Number<typename X::Element>>, fraction_is_a_ratio<Rate>,
                           rate_below_one<Rate>>;
};
template <class Initial, class X>
struct layer_rules<LayerScale<Initial>, X> {
  using type =
      mp::mp_list<input_matches<X, LayerScale<Initial>, Number<typename X::Element>>, fraction_is_a_ratio<Initial>>;
};
template <class Words, std::size_t Channels, class... End, class X>
struct layer_rules<TiedLinear<Embedding<Words, Channels, End...>>, X> {
  using Layer = TiedLinear<Embedding<Words, Channels, End...>>;
  using type = mp::mp_list<input_matches<X, Layer, Number<typename X::Element>>,
                           inner_extent_matches<Shape<X::rows, Channels>, typename X::Shape>>;
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
