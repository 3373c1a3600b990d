// regimen/verdict/shape_rules.hpp — the rules about shapes: checks the layers in order, up to the first that refuses.
#pragma once

#include <regimen/engine/plan/engine.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/conv3d.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/group_norm.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/layer_scale.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/layer/recurrent.hpp>
#include <regimen/layer/slice.hpp>
#include <regimen/rule/as_takes_element_type.hpp>
#include <regimen/rule/attention_options_differ.hpp>
#include <regimen/rule/attention_takes_option.hpp>
#include <regimen/rule/batch_norm_takes_option.hpp>
#include <regimen/rule/bias_is_felt.hpp>
#include <regimen/rule/branches_keep_element.hpp>
#include <regimen/rule/branches_keep_extents.hpp>
#include <regimen/rule/branches_keep_shape.hpp>
#include <regimen/rule/bundle_has_part.hpp>
#include <regimen/rule/conv_takes_options.hpp>
#include <regimen/rule/conv_transpose2d_takes_options.hpp>
#include <regimen/rule/cross_attention_takes_option.hpp>
#include <regimen/rule/element_type_is_built.hpp>
#include <regimen/rule/epsilon_above_zero.hpp>
#include <regimen/rule/extents_at_least_one.hpp>
#include <regimen/rule/fork_joins_branches.hpp>
#include <regimen/rule/fraction_is_a_ratio.hpp>
#include <regimen/rule/group_norm_takes_option.hpp>
#include <regimen/rule/groups_divide_channels.hpp>
#include <regimen/rule/heads_at_most_2048.hpp>
#include <regimen/rule/heads_divide_width.hpp>
#include <regimen/rule/inner_extent_matches.hpp>
#include <regimen/rule/input_matches.hpp>
#include <regimen/rule/key_heads_divide_heads.hpp>
#include <regimen/rule/layer_goes_both_ways.hpp>
#include <regimen/rule/layer_takes_images.hpp>
#include <regimen/rule/layer_takes_positions.hpp>
#include <regimen/rule/layer_takes_volumes.hpp>
#include <regimen/rule/layers_one_to_255.hpp>
#include <regimen/rule/linear_takes_one_width.hpp>
#include <regimen/rule/momentum_in_range.hpp>
#include <regimen/rule/name_declares_shape.hpp>
#include <regimen/rule/named_value_has_its_shape.hpp>
#include <regimen/rule/norm_groups_divide_channels.hpp>
#include <regimen/rule/output_padding_below_stride.hpp>
#include <regimen/rule/padding_leaves_output.hpp>
#include <regimen/rule/part_of_a_bundle.hpp>
#include <regimen/rule/pool_takes_options.hpp>
#include <regimen/rule/rate_below_one.hpp>
#include <regimen/rule/recurrent_takes_option.hpp>
#include <regimen/rule/repeat_keeps_shape.hpp>
#include <regimen/rule/residual_keeps_shape.hpp>
#include <regimen/rule/rotary_scales_frequencies.hpp>
#include <regimen/rule/rotary_turns_pairs.hpp>
#include <regimen/rule/slice_fits_extent.hpp>
#include <regimen/rule/sliding_window_is_causal.hpp>
#include <regimen/rule/squares_divide_image.hpp>
#include <regimen/rule/theta_above_zero.hpp>
#include <regimen/rule/upsample_takes_mode.hpp>
#include <regimen/rule/window_fits_image.hpp>
#include <regimen/rule/window_sees_pixels.hpp>
#include <regimen/verdict/compose.hpp>
#include <regimen/verdict/model_layers.hpp>
#include <regimen/walk/walk.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace regimen::train {

template <class Rules>
using broken_of = mp::mp_copy_if<Rules, detail::broken>;

/// A layer's rules about its input. A user's layer may add `template <class X> using rules = mp_list<...>`.
template <class Layer, class X>
struct layer_rules {
  using type = mp::mp_list<rule::input_matches<X, Layer, Number<typename X::Element>>>;
};
template <class Layer, class X>
  requires requires { typename Layer::template rules<X>; }
struct layer_rules<Layer, X> {
  using type = typename Layer::template rules<X>;
};
template <std::size_t Width, class X>
struct layer_rules<Linear<Width>, X> {
  using type = mp::mp_list<rule::input_matches<X, Linear<Width>, Number<typename X::Element>>,
                           rule::extents_at_least_one<Linear<Width>, Width>>;
};
template <std::size_t Width, auto Second, auto... More, class X>
struct layer_rules<Linear<Width, Second, More...>, X> {
  using type = mp::mp_list<rule::linear_takes_one_width<Linear<Width, Second, More...>>>;
};
template <std::size_t Width, class X>
struct layer_rules<Linear<Width, NoBias>, X> {
  using type = mp::mp_list<rule::input_matches<X, Linear<Width, NoBias>, Number<typename X::Element>>,
                           rule::extents_at_least_one<Linear<Width, NoBias>, Width>>;
};
template <class Words, std::size_t Channels, class X>
struct layer_rules<Embedding<Words, Channels>, X> {
  using type = mp::mp_list<rule::input_matches<X, Embedding<Words, Channels>, std::is_integral_v<typename X::Element>>,
                           rule::extents_at_least_one<Embedding<Words, Channels>, Words::size, Channels>>;
};
/// An argument of SelfAttention: which option it is, and its rules.
///   Attention   the layer   Named   Heads<N> or HeadWidth<D>, which decides the width of a head
enum class AttentionOption { causal, dropout, rotary, without_bias, key_heads, head_width, norm, window, unknown };
template <class Option>
struct attention_option {
  static constexpr AttentionOption kind = std::is_same_v<Option, Causal>        ? AttentionOption::causal
                                          : std::is_same_v<Option, WithoutBias> ? AttentionOption::without_bias
                                                                                : AttentionOption::unknown;
  template <class HeadCount, class Named, std::size_t width>
  using rules = mp::mp_list<>;
};
template <class Rate>
struct attention_option<Dropout<Rate>> {
  static constexpr AttentionOption kind = AttentionOption::dropout;
  template <class HeadCount, class Named, std::size_t width>
  using rules = mp::mp_list<rule::fraction_is_a_ratio<Rate>, rule::rate_below_one<Rate>>;
};
template <class Value>
struct attention_option<QueryKeyNorm<Epsilon<Value>>> {
  static constexpr AttentionOption kind = AttentionOption::norm;
  template <class HeadCount, class Named, std::size_t width>
  using rules = mp::mp_list<rule::epsilon_above_zero<Value>>;
};
template <class Theta, class Scaling>
struct attention_option<Rotary<Theta, Scaling>> {
  static constexpr AttentionOption kind = AttentionOption::rotary;
  template <class HeadCount, class Named, std::size_t width>
  using rules = mp::mp_list<rule::theta_above_zero<Theta>, rule::rotary_scales_frequencies<Scaling>,
                            rule::rotary_turns_pairs<Named, width>>;
};
template <std::size_t N>
struct attention_option<SlidingWindow<N>> {
  static constexpr AttentionOption kind = AttentionOption::window;
  template <class HeadCount, class Named, std::size_t width>
  using rules = mp::mp_list<rule::extents_at_least_one<SlidingWindow<N>, N>>;
};
template <std::size_t Count>
struct attention_option<KeyHeads<Count>> {
  static constexpr AttentionOption kind = AttentionOption::key_heads;
  template <class HeadCount, class Named, std::size_t width>
  using rules = mp::mp_list<rule::key_heads_divide_heads<HeadCount, KeyHeads<Count>>>;
};
template <std::size_t Channels>
struct attention_option<HeadWidth<Channels>> {
  static constexpr AttentionOption kind = AttentionOption::head_width;
  template <class HeadCount, class Named, std::size_t width>
  using rules = mp::mp_list<rule::extents_at_least_one<HeadWidth<Channels>, Channels>,
                            rule::extents_at_least_one<HeadCount, HeadCount::count>>;
};
/// How often the most frequent option of a kind occurs.
template <class... Options>
constexpr std::size_t most_of_a_kind() {
  std::array<std::size_t, std::size_t(AttentionOption::unknown) + 1> counts{};
  std::size_t most = 0;
  ((counts[std::size_t(attention_option<Options>::kind)]++), ...);
  for (std::size_t kind = 0; kind < std::size_t(AttentionOption::unknown); ++kind)
    most = (std::max)(most, counts[kind]);
  return most;
}
/// The rules of the width of a head: where it is given, where it is a part of the channels, and where it is none.
template <class Attention, class HeadCount, class X>
struct head_width {
  static constexpr std::size_t given = Attention::Chosen::width, count = HeadCount::count;
  using Named = std::conditional_t<(given > 0), HeadWidth<given>, HeadCount>;
  static constexpr std::size_t width = given > 0                              ? given
                                       : count > 0 && X::columns % count == 0 ? X::columns / count
                                                                              : 0;
  using rules = mp::mp_append<std::conditional_t<(given > 0), mp::mp_list<>,
                                                 mp::mp_list<rule::heads_divide_width<HeadCount, typename X::Shape>>>,
                              mp::mp_list<rule::heads_at_most_2048<Named, width>>>;
};
template <class HeadCount, class... Options, class X>
struct layer_rules<SelfAttention<HeadCount, Options...>, X> {
  using type = mp::mp_list<rule::input_matches<X, SelfAttention<HeadCount, Options...>, Number<typename X::Element>>,
                           rule::attention_takes_option<HeadCount, false>>;
};
template <std::size_t Count, class... Options, class X>
struct layer_rules<SelfAttention<Heads<Count>, Options...>, X> {
 private:
  using Attention = SelfAttention<Heads<Count>, Options...>;
  using Head = head_width<Attention, Heads<Count>, X>;

 public:
  using type = mp::mp_append<
      mp::mp_list<rule::input_matches<X, Attention, Number<typename X::Element>>>, typename Head::rules,
      mp::mp_list<
          rule::attention_takes_option<Options, attention_option<Options>::kind != AttentionOption::unknown>...,
          rule::attention_options_differ<Attention, most_of_a_kind<Options...>()>,
          rule::sliding_window_is_causal<Attention, (Attention::Chosen::window == 0 || Attention::Chosen::causal)>>,
      typename attention_option<Options>::template rules<Heads<Count>, typename Head::Named, Head::width>...>;
};
template <class Rate, class X>
struct layer_rules<Dropout<Rate>, X> {
  using type = mp::mp_list<rule::input_matches<X, Dropout<Rate>, Number<typename X::Element>>,
                           rule::fraction_is_a_ratio<Rate>, rule::rate_below_one<Rate>>;
};
template <class Value, class X>
struct layer_rules<LayerNormWith<Epsilon<Value>>, X> {
  using type = mp::mp_list<rule::input_matches<X, LayerNormWith<Epsilon<Value>>, Number<typename X::Element>>,
                           rule::epsilon_above_zero<Value>>;
};
template <class Value, class X>
struct layer_rules<RmsNormWith<Epsilon<Value>>, X> {
  using type = mp::mp_list<rule::input_matches<X, RmsNormWith<Epsilon<Value>>, Number<typename X::Element>>,
                           rule::epsilon_above_zero<Value>>;
};
template <class Layer, std::size_t extent, std::size_t Begin, std::size_t Count, class X>
using part_rules = mp::mp_list<rule::input_matches<X, Layer, !regimen::detail::is_bundle<typename X::Element>>,
                               rule::slice_fits_extent<Layer, typename X::Shape, extent, Begin, Count>>;
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
  using type = mp::mp_list<rule::part_of_a_bundle<X, Part<I>>>;
};
template <std::size_t I, class X>
  requires regimen::detail::is_bundle<typename X::Element>
struct layer_rules<Part<I>, X> {
  using type = mp::mp_list<rule::bundle_has_part<Part<I>, X, I, X::Element::count>>;
};
template <class Layer, class Name, class Found, class X>
using named_layer_rules = mp::mp_if<
    std::is_void<typename regimen::detail::shape_of_name<Name>::type>, mp::mp_list<rule::name_declares_shape<Name>>,
    mp::mp_list<rule::input_matches<X, Layer, Number<typename X::Element>>,
                rule::named_value_has_its_shape<Layer, Found, typename regimen::detail::shape_of_name<Name>::type>>>;
template <class Name, class X>
struct layer_rules<Keep<Name>, X> {
  using type = named_layer_rules<Keep<Name>, Name, typename X::Shape, X>;
};
template <class Name, class X>
struct layer_rules<Read<Name>, X> {
  using type = named_layer_rules<Read<Name>, Name, typename regimen::detail::shape_of_name<Name>::type, X>;
};
/// Of CrossAttention: those that do not speak of positions.
template <class Option>
inline constexpr bool crosses_with = attention_option<Option>::kind == AttentionOption::dropout ||
                                     attention_option<Option>::kind == AttentionOption::without_bias ||
                                     attention_option<Option>::kind == AttentionOption::key_heads ||
                                     attention_option<Option>::kind == AttentionOption::head_width;
template <class Name, class HeadCount, class... Options, class X>
struct layer_rules<CrossAttention<Name, HeadCount, Options...>, X> {
  using type =
      mp::mp_list<rule::input_matches<X, CrossAttention<Name, HeadCount, Options...>, Number<typename X::Element>>,
                  rule::cross_attention_takes_option<HeadCount, false>>;
};
template <class Name, std::size_t Count, class... Options, class X>
struct layer_rules<CrossAttention<Name, Heads<Count>, Options...>, X> {
 private:
  using Attention = CrossAttention<Name, Heads<Count>, Options...>;
  using Head = head_width<Attention, Heads<Count>, X>;

 public:
  using type = mp::mp_append<
      named_layer_rules<Attention, Name, typename regimen::detail::shape_of_name<Name>::type, X>, typename Head::rules,
      mp::mp_list<rule::cross_attention_takes_option<Options, crosses_with<Options>>...,
                  rule::attention_options_differ<Attention, most_of_a_kind<Options...>()>>,
      typename attention_option<Options>::template rules<Heads<Count>, typename Head::Named, Head::width>...>;
};
/// An argument of BatchNorm: which option it is, and its rules.
template <class Option>
struct batch_norm_option {
  static constexpr unsigned kind = std::is_same_v<Option, PerMicroBatch> ? 0
                                   : std::is_same_v<Option, AfterBias>   ? 3
                                   : std::is_same_v<Option, OverRanks>   ? 4
                                                                         : 5;
  using rules = mp::mp_list<rule::batch_norm_takes_option<Option, kind != 5>>;
};
template <class Value>
struct batch_norm_option<Epsilon<Value>> {
  static constexpr unsigned kind = 1;
  using rules = mp::mp_list<rule::epsilon_above_zero<Value>>;
};
template <class Value>
struct batch_norm_option<Momentum<Value>> {
  static constexpr unsigned kind = 2;
  using rules = mp::mp_list<rule::momentum_in_range<Value>>;
};
/// Whether none of BatchNorm's options occurs twice.
template <class... Options>
constexpr bool batch_norm_options_differ() {
  std::array<unsigned, 6> counts{};
  ((++counts[batch_norm_option<Options>::kind]), ...);
  return std::all_of(counts.begin(), counts.end() - 1, [](unsigned count) { return count <= 1; });
}
template <class... Options, class X>
struct layer_rules<BatchNorm<Options...>, X> {
  using type = mp::mp_append<
      mp::mp_list<rule::input_matches<X, BatchNorm<Options...>, Number<typename X::Element>>,
                  rule::batch_norm_takes_option<BatchNorm<Options...>, batch_norm_options_differ<Options...>()>>,
      typename batch_norm_option<Options>::rules...>;
};
template <class Option>
struct group_norm_option {
  using rules = mp::mp_list<rule::group_norm_takes_option<Option, false>>;
};
template <class Value>
struct group_norm_option<Epsilon<Value>> {
  using rules = mp::mp_list<rule::epsilon_above_zero<Value>>;
};
template <std::size_t Groups, class... Options, class X>
struct layer_rules<GroupNorm<Groups, Options...>, X> {
  using type = mp::mp_append<
      mp::mp_list<rule::input_matches<X, GroupNorm<Groups, Options...>, Number<typename X::Element>>,
                  rule::norm_groups_divide_channels<GroupNorm<Groups, Options...>, Groups, typename X::Shape>>,
      typename group_norm_option<Options>::rules...,
      mp::mp_list<rule::group_norm_takes_option<GroupNorm<Groups, Options...>, (sizeof...(Options) <= 1)>>>;
};
template <class Layer, std::size_t Size, class X>
using square_rules = mp::mp_list<rule::input_matches<X, Layer, Number<typename X::Element>>,
                                 rule::layer_takes_images<Layer, typename X::Shape>,
                                 rule::squares_divide_image<Layer, Size, typename X::Shape>>;
template <std::size_t Size, class X>
struct layer_rules<Patches<Size>, X> {
  using type = square_rules<Patches<Size>, Size, X>;
};
/// A pool that cuts the image into squares, or, with options, has windows.
template <class Layer, std::size_t Size, class X, auto... Options>
struct pool_rules {
  static constexpr auto o = regimen::detail::pool_options<Size, Options...>;
  using type =
      mp::mp_list<rule::input_matches<X, Layer, Number<typename X::Element>>,
                  rule::layer_takes_images<Layer, typename X::Shape>, rule::pool_takes_options<Layer, o.are_sound()>,
                  rule::extents_at_least_one<Layer, Size, o.stride>,
                  rule::window_sees_pixels<Layer, (Size > 0 ? Size : 1), o.padding>,
                  rule::window_fits_image<Layer, Size, Size, o.padding, typename X::Shape>>;
};
template <class Layer, std::size_t Size, class X>
struct pool_rules<Layer, Size, X> {
  using type = square_rules<Layer, Size, X>;
};
template <std::size_t Size, auto... Options, class X>
struct layer_rules<MaxPool<Size, Options...>, X> : pool_rules<MaxPool<Size, Options...>, Size, X, Options...> {};
template <std::size_t Size, auto... Options, class X>
struct layer_rules<AveragePool<Size, Options...>, X> : pool_rules<AveragePool<Size, Options...>, Size, X, Options...> {
};
template <std::size_t Size, class... Mode, class X>
struct layer_rules<Upsample<Size, Mode...>, X> {
  using Layer = Upsample<Size, Mode...>;
  using type =
      mp::mp_list<rule::input_matches<X, Layer, Number<typename X::Element>>,
                  rule::layer_takes_images<Layer, typename X::Shape>,
                  rule::upsample_takes_mode<Layer, sizeof...(Mode) == 0 ||
                                                       std::is_same_v<mp::mp_list<Mode...>, mp::mp_list<Bilinear>>>,
                  rule::extents_at_least_one<Layer, Size>>;
};
/// Those of all convolutions: OfInput is about the number of its axes; Windows say whether windows fit.
template <class Layer, class X, class OfInput, class... Windows>
struct conv_rules {
  static constexpr auto o = Layer::options;
  using type =
      mp::mp_list<rule::input_matches<X, Layer, Number<typename X::Element>>, OfInput,
                  rule::conv_takes_options<Layer, o.are_sound()>,
                  rule::extents_at_least_one<Layer, Layer::channels, o.height, o.width, o.stride, o.dilation, o.groups>,
                  rule::groups_divide_channels<Layer, o.groups, Layer::channels, typename X::Shape>, Windows...>;
};
/// Pixels that a window spans, in one direction.
constexpr std::size_t span(const regimen::detail::ConvOptions& o, std::size_t window) {
  return o.dilation * (window > 0 ? window - 1 : 0) + 1;
}
template <class Layer, class X>
using image_window = rule::window_fits_image<Layer, span(Layer::options, Layer::options.height),
                                             span(Layer::options, Layer::options.width), Layer::options.padding, X>;
template <std::size_t Channels, auto Window, auto... Options, class X>
struct layer_rules<Conv2d<Channels, Window, Options...>, X>
    : conv_rules<Conv2d<Channels, Window, Options...>, X,
                 rule::layer_takes_images<Conv2d<Channels, Window, Options...>, typename X::Shape>,
                 image_window<Conv2d<Channels, Window, Options...>, typename X::Shape>> {};
/// Positions are an image of one line, with the padding that it has.
template <std::size_t Channels, auto Window, auto... Options, class X>
struct layer_rules<Conv1d<Channels, Window, Options...>, X>
    : conv_rules<
          Conv1d<Channels, Window, Options...>, X,
          rule::layer_takes_positions<Conv1d<Channels, Window, Options...>, typename X::Shape>,
          rule::window_fits_image<
              Conv1d<Channels, Window, Options...>, 1, Conv1d<Channels, Window, Options...>::options.span(), 0,
              Shape<1, X::Shape::extent(0) + Conv1d<Channels, Window, Options...>::options.pads(), X::columns>>> {};
/// A volume is images of lines, and of frames.
template <std::size_t Channels, auto Window, auto... Options, class X>
struct layer_rules<Conv3d<Channels, Window, Options...>, X> {
  using Layer = Conv3d<Channels, Window, Options...>;
  using From = typename X::Shape;
  using Fits =
      std::conditional_t<From::rank == 4,
                         mp::mp_list<image_window<Layer, Shape<From::extent(1), From::extent(2), 1>>,
                                     rule::window_fits_image<Layer, span(Layer::options, Layer::options.depth), 1,
                                                             Layer::options.padding, Shape<From::extent(0), 1, 1>>>,
                         mp::mp_list<>>;
  using type = mp::mp_append<typename conv_rules<Layer, X, rule::layer_takes_volumes<Layer, From>>::type, Fits>;
};
template <class Layer, std::size_t Width, class X>
using recurrent_rules =
    mp::mp_list<rule::input_matches<X, Layer, Number<typename X::Element>>,
                rule::layer_takes_positions<Layer, typename X::Shape>,
                rule::recurrent_takes_option<Layer, Layer::takes_options>, rule::extents_at_least_one<Layer, Width>>;
template <std::size_t Width, auto... More, class X>
struct layer_rules<Lstm<Width, More...>, X> {
  using type = recurrent_rules<Lstm<Width, More...>, Width, X>;
};
template <std::size_t Width, auto... More, class X>
struct layer_rules<Gru<Width, More...>, X> {
  using type = recurrent_rules<Gru<Width, More...>, Width, X>;
};
template <std::size_t Channels, auto Window, auto... Options, class X>
struct layer_rules<ConvTranspose2d<Channels, Window, Options...>, X> {
  using Layer = ConvTranspose2d<Channels, Window, Options...>;
  static constexpr auto o = Layer::options;
  /// Of the output, with what padding takes off; other rules refuse what has no extent.
  static constexpr std::size_t padded(std::size_t axis, std::size_t window) {
    return X::Shape::rank == 3 && window > 0 ? o.padded(X::Shape::extent(axis), window) : 2 * o.padding + 1;
  }
  using type = mp::mp_list<
      rule::input_matches<X, Layer, Number<typename X::Element>>, rule::layer_takes_images<Layer, typename X::Shape>,
      rule::conv_transpose2d_takes_options<Layer, o.are_sound()>,
      rule::extents_at_least_one<Layer, Channels, o.height, o.width, o.stride, o.dilation, o.groups>,
      rule::groups_divide_channels<Layer, o.groups, Channels, typename X::Shape>,
      rule::output_padding_below_stride<Layer, o.output_padding, (o.stride > 0 ? o.stride : o.output_padding + 1)>,
      rule::padding_leaves_output<Layer, padded(0, o.height), padded(1, o.width), o.padding>>;
};
template <class Rate, class X>
struct layer_rules<DropPath<Rate>, X> {
  using type = mp::mp_list<rule::input_matches<X, DropPath<Rate>, Number<typename X::Element>>,
                           rule::fraction_is_a_ratio<Rate>, rule::rate_below_one<Rate>>;
};
template <class Initial, class X>
struct layer_rules<LayerScale<Initial>, X> {
  using type = mp::mp_list<rule::input_matches<X, LayerScale<Initial>, Number<typename X::Element>>,
                           rule::fraction_is_a_ratio<Initial>>;
};
template <class Words, std::size_t Channels, class X>
struct layer_rules<TiedLinear<Embedding<Words, Channels>>, X> {
  using type = mp::mp_list<rule::input_matches<X, TiedLinear<Embedding<Words, Channels>>, Number<typename X::Element>>,
                           rule::inner_extent_matches<Shape<X::rows, Channels>, typename X::Shape>>;
};

/// The number of elements, in floating point, so that it does not overflow.
template <class TensorShape>
inline constexpr double elements_in = 1;
template <std::size_t... Extents>
inline constexpr double elements_in<Shape<Extents...>> = (1.0 * ... * double(Extents));
template <class... Shapes>
inline constexpr double elements_in<JoinedShapes<Shapes...>> = (0.0 + ... + elements_in<Shapes>);

/// The elements of a bound layer: its parameters, and its output for one sample.
template <class Bound>
constexpr double elements_of() {
  double sum = elements_in<typename Bound::Output::Shape>;
  for (const Parameter& parameter : Bound::parameters) {
    double product = 1;
    for (const std::size_t extent : parameter.extents) product *= double(extent);
    sum += product;
  }
  return sum;
}

/// Whether a layer ends with a bias, and the BatchNorm with which one begins.
template <class Layer>
inline constexpr bool ends_with_bias = false;
template <std::size_t Width>
inline constexpr bool ends_with_bias<Linear<Width>> = true;
template <std::size_t Channels, auto Window, auto... Options>
inline constexpr bool ends_with_bias<Conv2d<Channels, Window, Options...>> =
    Conv2d<Channels, Window, Options...>::options.bias;
template <std::size_t Channels, auto Window, auto... Options>
inline constexpr bool ends_with_bias<Conv1d<Channels, Window, Options...>> =
    Conv1d<Channels, Window, Options...>::options.bias;
template <std::size_t Channels, auto Window, auto... Options>
inline constexpr bool ends_with_bias<Conv3d<Channels, Window, Options...>> =
    Conv3d<Channels, Window, Options...>::options.bias;
template <std::size_t Channels, auto Window, auto... Options>
inline constexpr bool ends_with_bias<ConvTranspose2d<Channels, Window, Options...>> =
    ConvTranspose2d<Channels, Window, Options...>::options.bias;
template <class First, class... Others>
inline constexpr bool ends_with_bias<Sequential<First, Others...>> =
    ends_with_bias<mp::mp_back<mp::mp_list<First, Others...>>>;
template <class First, class... Others>
inline constexpr bool ends_with_bias<Checkpointed<First, Others...>> =
    ends_with_bias<mp::mp_back<mp::mp_list<First, Others...>>>;
template <class Layer>
struct begins_with_norm {
  template <class Before>
  using rules = mp::mp_list<>;
};
template <class... Options>
struct begins_with_norm<BatchNorm<Options...>> {
  template <class Before>
  using rules = mp::mp_list<rule::bias_is_felt<Before, BatchNorm<Options...>,
                                               BatchNorm<Options...>::Chosen::after_bias || !ends_with_bias<Before>>>;
};
template <class First, class... Others>
struct begins_with_norm<Sequential<First, Others...>> : begins_with_norm<First> {};
template <class Name, class First, class... Others>
struct begins_with_norm<Shared<Name, First, Others...>> : begins_with_norm<First> {};
template <class First, class... Others>
struct begins_with_norm<Checkpointed<First, Others...>> : begins_with_norm<First> {};
/// The rules of two neighbours.
template <class Before, class... Rest>
struct neighbour_rules {
  using type = mp::mp_list<>;
};
template <class Before, class Next, class... Rest>
struct neighbour_rules<Before, Next, Rest...> {
  using type = typename begins_with_norm<Next>::template rules<Before>;
};

template <class X, class Roles, class... Layers>
struct check_chain {
  using broken = mp::mp_list<>;
  using Output = X;
  static constexpr double elements = 0;
};

/// The members of a bound layer that a walk uses and LayerDefaults lacks.
template <class Bound>
concept GoesBothWays = requires(walk::Walk<plan::Engine<plan::AnyTraits>>& engine,
                                const ForwardCall<Bound::Saved::count, Bound::ForwardScratch::count>& forward,
                                const BackwardCall<Bound::Saved::count, Bound::BackwardScratch::count>& backward) {
  typename Bound::Output::Shape;
  Bound::forward(engine, forward);
  Bound::backward(engine, backward);
};

template <class Layer, class X, class Roles>
struct check_layer {
 private:
  template <class Checked, class Broken>
  struct bound {
    using broken = Broken;
    using Output = X;
    static constexpr double elements = 0;
  };
  template <class Checked>
  struct bound<Checked, mp::mp_list<>> {
    using broken = mp::mp_list<rule::layer_goes_both_ways<Checked>>;
    using Output = X;
    static constexpr double elements = 0;
  };
  template <class Checked>
    requires GoesBothWays<typename Checked::template Bound<X, Roles>>
  struct bound<Checked, mp::mp_list<>> {
    using broken = mp::mp_list<>;
    using Output = typename Checked::template Bound<X, Roles>::Output;
    static constexpr double elements = elements_of<typename Checked::template Bound<X, Roles>>();
  };
  using Found = bound<Layer, broken_of<typename layer_rules<Layer, X>::type>>;

 public:
  using broken = typename Found::broken;
  using Output = typename Found::Output;
  static constexpr double elements = Found::elements;
};
/// A combinator of a program's own: each child reads its input.
template <class Layer, class X, class Roles, class... Children>
struct check_branches {
  using broken = mp::mp_append<mp::mp_list<>, typename check_chain<X, Roles, Children>::broken...>;
  using Output = typename children<Layer>::template output<X, typename check_chain<X, Roles, Children>::Output...>;
  static constexpr double elements = (0.0 + ... + check_chain<X, Roles, Children>::elements);
};
template <Combinator Layer, class X, class Roles>
struct check_layer<Layer, X, Roles>
    : mp::mp_apply<check_branches, mp::mp_append<mp::mp_list<Layer, X, Roles>, typename children<Layer>::type>> {};
template <class HeadCount, class... Options, class X, class Roles>
struct check_layer<SelfAttention<HeadCount, Options...>, X, Roles> {
  using broken = broken_of<typename layer_rules<SelfAttention<HeadCount, Options...>, X>::type>;
  using Output = X;
  // At most: what lies between the products is as wide as q, k and v, or narrower.
  static constexpr double between = [] {
    using Layout = typename SelfAttention<HeadCount, Options...>::Layout;
    return Layout::heads == 0 ? 0.0 : double(Layout::all) * double(Layout::width_in(X::columns));
  }();
  static constexpr double elements =
      3 * double(X::rows) * (between + double(X::columns)) + 2 * (double(X::columns) + 1) * (between + 1);
};
template <class Name, class HeadCount, class... Options, class X, class Roles>
struct check_layer<CrossAttention<Name, HeadCount, Options...>, X, Roles> {
  using broken = broken_of<typename layer_rules<CrossAttention<Name, HeadCount, Options...>, X>::type>;
  using Output = X;
  // At most, as of SelfAttention, of both texts.
  static constexpr double elements = [] {
    using Layout = typename CrossAttention<Name, HeadCount, Options...>::Layout;
    if constexpr (Layout::heads == 0 || !mp::mp_empty<broken>::value) return 0.0;
    else {
      using Text = Value<typename X::Element, typename Name::Shape>;
      const double between = double(Layout::all) * double(Layout::width_in(X::columns)),
                   columns = double(X::columns) + double(Text::columns);
      return 3 * (double(X::rows) + double(Text::rows)) * (between + columns) + 3 * (columns + 1) * (between + 1);
    }
  }();
};
template <class... Layers, class X, class Roles>
struct check_layer<Sequential<Layers...>, X, Roles> : check_chain<X, Roles, Layers...> {};
template <class... Layers, class X, class Roles>
struct check_layer<Checkpointed<Layers...>, X, Roles> : check_chain<X, Roles, Layers...> {
  using broken = mp::mp_append<
      broken_of<mp::mp_list<rule::layers_one_to_255<Checkpointed<Layers...>, layer_count<mp::mp_list<Layers...>>>>>,
      typename check_chain<X, Roles, Layers...>::broken>;
};
template <class T, class... Layers, class X, class Roles>
struct check_layer<As<T, Layers...>, X, Roles> {
  using broken =
      broken_of<mp::mp_list<std::conditional_t<regimen::detail::is_unbuilt_number<T>, rule::element_type_is_built<T>,
                                               rule::as_takes_element_type<T>>>>;
  using Output = X;
  static constexpr double elements = 0;
};
template <ComputeType T, class... Layers, class X, class Roles>
struct check_layer<As<T, Layers...>, X, Roles> {
  using In = std::conditional_t<Number<typename X::Element>, Value<stored_t<T>, typename X::Shape>, X>;
  using Inner = check_chain<In, regimen::Roles<T, typename Roles::master, typename Roles::reduce>, Layers...>;
  using broken = typename Inner::broken;
  using Output = typename Inner::Output;
  static constexpr double elements = Inner::elements;
};
template <class... Layers, class X, class Roles>
struct check_layer<Residual<Layers...>, X, Roles> {
  using Inner = check_chain<X, Roles, Layers...>;
  using broken = mp::mp_append<
      broken_of<mp::mp_list<rule::input_matches<X, Residual<Layers...>, Number<typename X::Element>>,
                            rule::layers_one_to_255<Residual<Layers...>, layer_count<mp::mp_list<Layers...>>>>>,
      typename Inner::broken,
      broken_of<
          mp::mp_list<std::conditional_t<mp::mp_empty<typename Inner::broken>::value,
                                         rule::residual_keeps_shape<typename X::Shape, typename Inner::Output::Shape>,
                                         rule::residual_keeps_shape<X, X>>>>>;
  using Output = X;
  static constexpr double elements = Inner::elements;
};
template <class Name, class... Layers, class X, class Roles>
struct check_layer<Shared<Name, Layers...>, X, Roles> {
  using Inner = check_chain<X, Roles, Layers...>;
  using broken = mp::mp_append<
      broken_of<mp::mp_list<rule::layers_one_to_255<Shared<Name, Layers...>, layer_count<mp::mp_list<Layers...>>>>>,
      typename Inner::broken>;
  using Output = typename Inner::Output;
  static constexpr double elements = Inner::elements;
};
/// The rules of a join about the outputs of branches, if they are sound. A program's own join may have none.
template <class Join, class... Outputs>
struct join_rules {
  using type = mp::mp_list<>;
};
template <class Join, class... Outputs>
  requires requires { typename Join::template rules<Outputs...>; }
struct join_rules<Join, Outputs...> {
  using type = typename Join::template rules<Outputs...>;
};
template <class First, class... Others>
struct join_rules<Add, First, Others...> {
  using type = mp::mp_list<rule::branches_keep_shape<Add, typename First::Shape, typename Others::Shape>...>;
};
template <class First, class... Others>
struct join_rules<Multiply, First, Others...> {
  using type = mp::mp_list<rule::branches_keep_shape<Multiply, typename First::Shape, typename Others::Shape>...>;
};
template <std::size_t axis, class First, class... Others>
struct join_rules<ConcatAlong<axis>, First, Others...> {
  using type = mp::mp_list<rule::branches_keep_extents<axis, typename First::Shape, typename Others::Shape>...>;
};
template <class First, class... Others>
struct join_rules<Concat, First, Others...> : join_rules<ConcatAlong<First::Shape::rank - 1>, First, Others...> {};
template <bool sound, class Join, class X, class... Outputs>
struct joined {
  using broken = mp::mp_list<>;
  using Output = X;
};
template <class Join, class X, class... Outputs>
struct joined<true, Join, X, Outputs...> {
  using broken = broken_of<typename join_rules<Join, Outputs...>::type>;
  template <class Join_, class Broken>
  struct output {
    using type = X;
  };
  template <class Join_>
  struct output<Join_, mp::mp_list<>> {
    using type = typename Join_::template of<Outputs...>::Output;
  };
  using Output = typename output<Join, broken>::type;
};
template <class Join, class... Branches, class X, class Roles>
struct check_layer<Fork<Join, Branches...>, X, Roles> {
 private:
  static constexpr bool is_whole = regimen::detail::is_join<Join> && sizeof...(Branches) >= 2;
  using own = broken_of<
      mp::mp_list<rule::fork_joins_branches<Fork<Join, Branches...>, is_whole>,
                  rule::layers_one_to_255<Fork<Join, Branches...>, (std::size_t{0} + ... + layer_count<Branches>)>>>;
  using sound = mp::mp_append<own, typename check_chain<X, Roles, Branches>::broken...>;
  static constexpr std::size_t numbers =
      (std::size_t{0} + ... + (Number<typename check_chain<X, Roles, Branches>::Output::Element> ? 1 : 0));
  using inner = mp::mp_append<
      sound,
      broken_of<mp::mp_list<rule::branches_keep_element<
          Fork<Join, Branches...>, !mp::mp_empty<sound>::value || numbers == 0 || numbers == sizeof...(Branches)>>>>;
  using Joined = joined<mp::mp_empty<inner>::value, Join, X, typename check_chain<X, Roles, Branches>::Output...>;

 public:
  using broken = mp::mp_append<inner, typename Joined::broken>;
  using Output = typename Joined::Output;
  static constexpr double elements =
      elements_in<typename Output::Shape> + (0.0 + ... + check_chain<X, Roles, Branches>::elements);
};
template <std::size_t Count, class Block, class X, class Roles>
struct check_layer<Repeat<Count, Block>, X, Roles> {
  using Inner = check_layer<Block, X, Roles>;
  using broken =
      mp::mp_append<broken_of<mp::mp_list<rule::extents_at_least_one<Repeat<Count, Block>, Count>,
                                          rule::layers_one_to_255<Repeat<Count, Block>, layer_count<Block>>>>,
                    typename Inner::broken,
                    broken_of<mp::mp_list<
                        std::conditional_t<mp::mp_empty<typename Inner::broken>::value,
                                           rule::repeat_keeps_shape<typename X::Shape, typename Inner::Output::Shape>,
                                           rule::repeat_keeps_shape<X, X>>>>>;
  using Output = X;
  static constexpr double elements = double(Count) * Inner::elements;
};

template <class X, class Roles, class First, class... Rest>
struct check_chain<X, Roles, First, Rest...> {
 private:
  // The next layer's input is in the compute type: As casts its own input and output.
  using In = std::conditional_t<Number<typename X::Element>, Value<typename Roles::compute, typename X::Shape>, X>;
  using Checked = check_layer<First, In, Roles>;
  using Own = mp::mp_append<typename Checked::broken, broken_of<typename neighbour_rules<First, Rest...>::type>>;
  template <class Done, bool sound>
  struct next {
    using broken = Own;
    using Output = X;
    static constexpr double elements = 0;
  };
  template <class Done>
  struct next<Done, true> : check_chain<typename Done::Output, Roles, Rest...> {};
  using Next = next<Checked, mp::mp_empty<Own>::value>;

 public:
  using broken = typename Next::broken;
  using Output = typename Next::Output;
  static constexpr double elements = Checked::elements + Next::elements;
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
