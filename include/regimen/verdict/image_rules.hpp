// regimen/verdict/image_rules.hpp — the rules of layers that take images: windows, squares and padding fit.
#pragma once

#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/rule/conv2d_takes_options.hpp>
#include <regimen/rule/conv_transpose2d_takes_options.hpp>
#include <regimen/rule/extents_at_least_one.hpp>
#include <regimen/rule/groups_divide_channels.hpp>
#include <regimen/rule/input_matches.hpp>
#include <regimen/rule/layer_takes_images.hpp>
#include <regimen/rule/output_padding_below_stride.hpp>
#include <regimen/rule/padding_leaves_output.hpp>
#include <regimen/rule/pool_takes_options.hpp>
#include <regimen/rule/squares_divide_image.hpp>
#include <regimen/rule/upsample_takes_mode.hpp>
#include <regimen/rule/window_fits_image.hpp>
#include <regimen/rule/window_sees_pixels.hpp>
#include <regimen/verdict/layer_rules.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::train {

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
template <std::size_t Channels, auto Window, auto... Options, class X>
struct layer_rules<Conv2d<Channels, Window, Options...>, X> {
  using Layer = Conv2d<Channels, Window, Options...>;
  static constexpr auto o = Layer::options;
  // Pixels of the image that a window spans, in one direction.
  static constexpr std::size_t span(std::size_t window) { return o.dilation * (window > 0 ? window - 1 : 0) + 1; }
  using type =
      mp::mp_list<rule::input_matches<X, Layer, Number<typename X::Element>>,
                  rule::layer_takes_images<Layer, typename X::Shape>, rule::conv2d_takes_options<Layer, o.are_sound()>,
                  rule::extents_at_least_one<Layer, Channels, o.height, o.width, o.stride, o.dilation, o.groups>,
                  rule::groups_divide_channels<Layer, o.groups, Channels, typename X::Shape>,
                  rule::window_fits_image<Layer, span(o.height), span(o.width), o.padding, typename X::Shape>>;
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

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
