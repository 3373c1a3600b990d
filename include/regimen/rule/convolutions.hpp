// regimen/rule/convolutions.hpp — rules of convolutions, pools and other layers that see images, series or volumes.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/conv3d.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/window.hpp>
#include <regimen/rule/layer_rules.hpp>
#include <regimen/rule/shapes.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// What stands behind the window, and the window: a number, or as many extents as the input has. CausalPadding is a
/// padding of Conv1d. PyTorch's convolutions begin with the channels of their input: a bare number.
/// docs/errors/convolutions.md#conv_takes_options
template <class Layer>
struct conv_takes_options {
  static constexpr bool holds = Layer::options.are_sound(), numbers = Layer::options.numbers;
  struct must_hold {
    static_assert(
        holds || numbers,
        "regimen: a convolution takes Stride<N>, one padding, Dilation<N>, Groups<N> and NoBias; write each at most once");
    static_assert(
        !numbers,
        "regimen: a convolution knows its input's channels, and options have names; write Conv2d<64, 3, Stride<2>>");
  };
};

/// What stands behind the window.   docs/errors/convolutions.md#conv_transpose2d_takes_options
template <class Layer>
struct conv_transpose2d_takes_options {
  static constexpr bool holds = Layer::options.are_sound();
  struct must_hold {
    static_assert(
        holds,
        "regimen: ConvTranspose2d<N, Window> takes the options of Conv2d, and OutputPadding<N>; write each at most once");
  };
};

/// The channels of a convolution and those of its input are multiples of its groups. extents_at_least_one refuses none.
/// docs/errors/convolutions.md#groups_divide_channels
template <class Layer, std::size_t Groups, std::size_t Channels, class ImageShape>
struct groups_divide_channels {
  static constexpr std::size_t count = Groups > 0 ? Groups : 1;
  static constexpr bool holds = Channels % count == 0 && ImageShape::extent(ImageShape::rank - 1) % count == 0;
  struct must_hold {
    static_assert(holds,
                  "regimen: Groups<N> cuts channels into equal runs; let N divide those of the layer and of its input");
  };
};

/// Its input has height, width and channels.   docs/errors/convolutions.md#layer_takes_images
template <class Layer, class InputShape>
struct layer_takes_images {
  static constexpr bool holds = InputShape::rank == 3;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this layer takes images (height, width, channels); put it before what makes them something else");
  };
};

/// Its input has depth, height, width and channels.   docs/errors/convolutions.md#layer_takes_volumes
template <class Layer, class InputShape>
struct layer_takes_volumes {
  static constexpr bool holds = InputShape::rank == 4;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this layer takes volumes (depth, height, width, channels); begin the model with Input<Volume<...>>");
  };
};

/// More of it would be zeros that no window reaches.   docs/errors/convolutions.md#output_padding_below_stride
template <class Layer, std::size_t OutputPadding, std::size_t Stride>
struct output_padding_below_stride {
  static constexpr bool holds = OutputPadding < Stride;
  struct must_hold {
    static_assert(holds,
                  "regimen: OutputPadding<N> chooses among sizes that Stride makes one; let N be less than the stride");
  };
};

/// Height and Width: of the output, before the padding takes off both ends.
/// docs/errors/convolutions.md#padding_leaves_output
template <class Layer, std::size_t Height, std::size_t Width, std::size_t Padding>
struct padding_leaves_output {
  static constexpr bool holds = (Height > 2 * Padding && Width > 2 * Padding);
  struct must_hold {
    static_assert(holds,
                  "regimen: the padding of ConvTranspose2d takes off all of its output; let Padding<N> be smaller");
  };
};

/// What stands behind the size.   docs/errors/convolutions.md#pool_takes_options
template <class Layer>
struct pool_takes_options {
  static constexpr bool holds = Layer::options.are_sound();
  struct must_hold {
    static_assert(
        holds,
        "regimen: MaxPool<N> and AveragePool<N> take Stride<N> and Padding<N>; write each at most once, and no other");
  };
};

/// What stands behind the factor is Bilinear alone, or nothing.   docs/errors/convolutions.md#resampling_takes_mode
template <class Layer>
struct resampling_takes_mode {
  static constexpr bool holds = Layer::options.known;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Upsample<N> and Downsample<N> take pixels, with Bilinear behind N they interpolate; write one of them");
  };
};

/// Height and width of the input are multiples of the layer's Size. layer_takes_images refuses other inputs.
/// docs/errors/convolutions.md#squares_divide_image
template <class Layer, std::size_t Size, class ImageShape>
struct squares_divide_image {
  static constexpr bool holds =
      ImageShape::rank != 3 || (Size > 0 && ImageShape::extent(0) % (Size > 0 ? Size : 1) == 0 &&
                                ImageShape::extent(1) % (Size > 0 ? Size : 1) == 0);
  struct must_hold {
    static_assert(
        holds,
        "regimen: Patches<N>, MaxPool<N>, AveragePool<N> and Downsample<N> cut images into squares; let N divide height "
        "and width");
  };
};

/// Height and Width: of the window, with the pixels that its dilation skips. layer_takes_images refuses other inputs.
/// docs/errors/convolutions.md#window_fits_image
template <class Layer, std::size_t Height, std::size_t Width, std::size_t Padding, class ImageShape>
struct window_fits_image {
  static constexpr bool holds = ImageShape::rank != 3 || (ImageShape::extent(0) + 2 * Padding >= Height &&
                                                          ImageShape::extent(1) + 2 * Padding >= Width);
  struct must_hold {
    static_assert(holds,
                  "regimen: a window is larger than the padded input; make the window smaller, or add Padding<N>");
  };
};

/// What would the largest pixel of none be?   docs/errors/convolutions.md#window_sees_pixels
template <class Layer, std::size_t Size, std::size_t Padding>
struct window_sees_pixels {
  static constexpr bool holds = Padding < Size;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a window of this pool lies in the padding alone; let Padding<N> be less than the size of the window");
  };
};

template <class Layer, std::size_t Size, class X>
struct square_rules : RuleList<input_matches<X, Layer>, layer_takes_images<Layer, typename X::Shape>,
                               squares_divide_image<Layer, Size, typename X::Shape>> {};
template <std::size_t Size, class X>
struct layer_rules<Patches<Size>, X> : square_rules<Patches<Size>, Size, X> {};
/// A pool that cuts the image into squares, or, with options, has windows.
template <class Layer, class X>
  requires detail::HasOptions<Layer, detail::PoolOptions>
struct layer_rules<Layer, X> {
  static constexpr auto o = Layer::options;
  using type = mp::mp_list<input_matches<X, Layer>, layer_takes_images<Layer, typename X::Shape>,
                           pool_takes_options<Layer>, extents_at_least_one<Layer, o.size, o.stride>,
                           window_sees_pixels<Layer, (o.size > 0 ? o.size : 1), o.padding>,
                           window_fits_image<Layer, o.size, o.size, o.padding, typename X::Shape>>;
};
template <class Layer, class X>
  requires detail::HasOptions<Layer, detail::PoolOptions> && (Layer::options.cuts)
struct layer_rules<Layer, X> : square_rules<Layer, Layer::options.size, X> {};
template <class Layer, class X>
  requires detail::HasOptions<Layer, detail::ResamplingOptions>
struct layer_rules<Layer, X> {
  using Larger = RuleList<input_matches<X, Layer>, layer_takes_images<Layer, typename X::Shape>,
                          extents_at_least_one<Layer, Layer::options.factor>>;
  using type = mp::mp_push_back<
      typename mp::mp_if_c<Layer::options.cuts, square_rules<Layer, Layer::options.factor, X>, Larger>::type,
      resampling_takes_mode<Layer>>;
};
/// Those of all convolutions: OfInput is about the number of its axes; Windows say whether windows fit.
template <class Layer, class X, class OfInput, class... Windows>
struct conv_rules {
  static constexpr auto o = Layer::options;
  using Extents =
      mp::mp_list<conv_takes_options<Layer>,
                  extents_at_least_one<Layer, Layer::channels, o.height, o.width, o.stride, o.dilation, o.groups>,
                  groups_divide_channels<Layer, o.groups, Layer::channels, typename X::Shape>, Windows...>;
  using type = mp::mp_append<mp::mp_list<input_matches<X, Layer>, OfInput>,
                             std::conditional_t<o.numbers, mp::mp_list<conv_takes_options<Layer>>, Extents>>;
};
/// Pixels that a window spans, in one direction.
constexpr std::size_t span_of(const detail::ConvOptions& o, std::size_t window) {
  return o.dilation * (window > 0 ? window - 1 : 0) + 1;
}
template <class Layer, class X>
using image_window = window_fits_image<Layer, span_of(Layer::options, Layer::options.height),
                                       span_of(Layer::options, Layer::options.width), Layer::options.padding, X>;
template <class Layer, class X>
  requires detail::HasOptions<Layer, detail::ConvOptions>
struct layer_rules<Layer, X>
    : conv_rules<Layer, X, layer_takes_images<Layer, typename X::Shape>, image_window<Layer, typename X::Shape>> {};
/// Positions are an image of one line, with the padding that it has.
template <class Layer, class X>
  requires detail::HasOptions<Layer, detail::Conv1dOptions>
struct layer_rules<Layer, X>
    : conv_rules<Layer, X, layer_takes_positions<Layer, typename X::Shape>,
                 window_fits_image<Layer, 1, Layer::options.span(), 0,
                                   Shape<1, X::Shape::extent(0) + Layer::options.pads(), X::columns>>> {};
/// A volume is images of lines, and of frames.
template <class Layer, class X>
  requires detail::HasOptions<Layer, detail::Conv3dOptions>
struct layer_rules<Layer, X> {
  using From = typename X::Shape;
  using Fits = std::conditional_t<From::rank == 4 && !Layer::options.numbers,
                                  mp::mp_list<image_window<Layer, Shape<From::extent(1), From::extent(2), 1>>,
                                              window_fits_image<Layer, span_of(Layer::options, Layer::options.depth), 1,
                                                                Layer::options.padding, Shape<From::extent(0), 1, 1>>>,
                                  mp::mp_list<>>;
  using type = mp::mp_append<typename conv_rules<Layer, X, layer_takes_volumes<Layer, From>>::type, Fits>;
};
template <class Layer, class X>
  requires detail::HasOptions<Layer, detail::ConvTransposeOptions>
struct layer_rules<Layer, X> {
  static constexpr auto o = Layer::options;
  /// Of the output, with what padding takes off; other rules refuse what has no extent.
  static constexpr std::size_t padded(std::size_t axis, std::size_t window) {
    return X::Shape::rank == 3 && window > 0 ? o.padded(X::Shape::extent(axis), window) : 2 * o.padding + 1;
  }
  using type = mp::mp_list<
      input_matches<X, Layer>, layer_takes_images<Layer, typename X::Shape>,
      std::conditional_t<o.numbers, conv_takes_options<Layer>, conv_transpose2d_takes_options<Layer>>,
      extents_at_least_one<Layer, Layer::channels, o.height, o.width, o.stride, o.dilation, o.groups>,
      groups_divide_channels<Layer, o.groups, Layer::channels, typename X::Shape>,
      output_padding_below_stride<Layer, o.output_padding, (o.stride > 0 ? o.stride : o.output_padding + 1)>,
      padding_leaves_output<Layer, padded(0, o.height), padded(1, o.width), o.padding>>;
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
