// regimen/verdict/image_rules.hpp — the rules of layers that take images, and of convolutions: windows, squares and
// padding fit.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/conv3d.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/rule/convolutions.hpp>
#include <regimen/rule/shapes.hpp>
#include <regimen/verdict/layer_rules.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::verdict {

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
struct layer_rules<in_order::MaxPool<Size, Options...>, X>
    : pool_rules<in_order::MaxPool<Size, Options...>, Size, X, Options...> {};
template <std::size_t Size, auto... Options, class X>
struct layer_rules<in_order::AveragePool<Size, Options...>, X>
    : pool_rules<in_order::AveragePool<Size, Options...>, Size, X, Options...> {};
template <class Layer, class... Mode>
using takes_mode = rule::resampling_takes_mode<Layer, sizeof...(Mode) == 0 ||
                                                          std::is_same_v<mp::mp_list<Mode...>, mp::mp_list<Bilinear>>>;
template <std::size_t Size, class... Mode, class X>
struct layer_rules<Upsample<Size, Mode...>, X> {
  using Layer = Upsample<Size, Mode...>;
  using type = mp::mp_list<rule::input_matches<X, Layer, Number<typename X::Element>>,
                           rule::layer_takes_images<Layer, typename X::Shape>, takes_mode<Layer, Mode...>,
                           rule::extents_at_least_one<Layer, Size>>;
};
template <std::size_t Size, class... Mode, class X>
struct layer_rules<Downsample<Size, Mode...>, X> {
  using Layer = Downsample<Size, Mode...>;
  using type = mp::mp_push_back<square_rules<Layer, Size, X>, takes_mode<Layer, Mode...>>;
};
/// Those of all convolutions: OfInput is about the number of its axes; Windows say whether windows fit.
template <class Layer, class X, class OfInput, class... Windows>
struct conv_rules {
  static constexpr auto o = Layer::options;
  using Extents =
      mp::mp_list<rule::conv_takes_options<Layer, o.are_sound()>,
                  rule::extents_at_least_one<Layer, Layer::channels, o.height, o.width, o.stride, o.dilation, o.groups>,
                  rule::groups_divide_channels<Layer, o.groups, Layer::channels, typename X::Shape>, Windows...>;
  using type =
      mp::mp_append<mp::mp_list<rule::input_matches<X, Layer, Number<typename X::Element>>, OfInput>,
                    std::conditional_t<o.numbers, mp::mp_list<rule::conv_takes_options<Layer, false, true>>, Extents>>;
};
/// Pixels that a window spans, in one direction.
constexpr std::size_t span_of(const regimen::detail::ConvOptions& o, std::size_t window) {
  return o.dilation * (window > 0 ? window - 1 : 0) + 1;
}
template <class Layer, class X>
using image_window = rule::window_fits_image<Layer, span_of(Layer::options, Layer::options.height),
                                             span_of(Layer::options, Layer::options.width), Layer::options.padding, X>;
template <std::size_t Channels, auto Window, auto... Options, class X>
struct layer_rules<in_order::Conv2d<Channels, Window, Options...>, X>
    : conv_rules<in_order::Conv2d<Channels, Window, Options...>, X,
                 rule::layer_takes_images<in_order::Conv2d<Channels, Window, Options...>, typename X::Shape>,
                 image_window<in_order::Conv2d<Channels, Window, Options...>, typename X::Shape>> {};
/// Positions are an image of one line, with the padding that it has.
template <std::size_t Channels, auto Window, auto... Options, class X>
struct layer_rules<in_order::Conv1d<Channels, Window, Options...>, X>
    : conv_rules<in_order::Conv1d<Channels, Window, Options...>, X,
                 rule::layer_takes_positions<in_order::Conv1d<Channels, Window, Options...>, typename X::Shape>,
                 rule::window_fits_image<
                     in_order::Conv1d<Channels, Window, Options...>, 1,
                     in_order::Conv1d<Channels, Window, Options...>::options.span(), 0,
                     Shape<1, X::Shape::extent(0) + in_order::Conv1d<Channels, Window, Options...>::options.pads(),
                           X::columns>>> {};
/// A volume is images of lines, and of frames.
template <std::size_t Channels, auto Window, auto... Options, class X>
struct layer_rules<in_order::Conv3d<Channels, Window, Options...>, X> {
  using Layer = in_order::Conv3d<Channels, Window, Options...>;
  using From = typename X::Shape;
  using Fits =
      std::conditional_t<From::rank == 4,
                         mp::mp_list<image_window<Layer, Shape<From::extent(1), From::extent(2), 1>>,
                                     rule::window_fits_image<Layer, span_of(Layer::options, Layer::options.depth), 1,
                                                             Layer::options.padding, Shape<From::extent(0), 1, 1>>>,
                         mp::mp_list<>>;
  using type = mp::mp_append<typename conv_rules<Layer, X, rule::layer_takes_volumes<Layer, From>>::type, Fits>;
};
template <std::size_t Channels, auto Window, auto... Options, class X>
struct layer_rules<in_order::ConvTranspose2d<Channels, Window, Options...>, X> {
  using Layer = in_order::ConvTranspose2d<Channels, Window, Options...>;
  static constexpr auto o = Layer::options;
  /// Of the output, with what padding takes off; other rules refuse what has no extent.
  static constexpr std::size_t padded(std::size_t axis, std::size_t window) {
    return X::Shape::rank == 3 && window > 0 ? o.padded(X::Shape::extent(axis), window) : 2 * o.padding + 1;
  }
  using type = mp::mp_list<
      rule::input_matches<X, Layer, Number<typename X::Element>>, rule::layer_takes_images<Layer, typename X::Shape>,
      std::conditional_t<o.numbers, rule::conv_takes_options<Layer, false, true>,
                         rule::conv_transpose2d_takes_options<Layer, o.are_sound()>>,
      rule::extents_at_least_one<Layer, Channels, o.height, o.width, o.stride, o.dilation, o.groups>,
      rule::groups_divide_channels<Layer, o.groups, Channels, typename X::Shape>,
      rule::output_padding_below_stride<Layer, o.output_padding, (o.stride > 0 ? o.stride : o.output_padding + 1)>,
      rule::padding_leaves_output<Layer, padded(0, o.height), padded(1, o.width), o.padding>>;
};

}  // namespace regimen::verdict
// SPDX-License-Identifier: Apache-2.0
