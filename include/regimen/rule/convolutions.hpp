// regimen/rule/convolutions.hpp — rules. Convolutions and pools: windows, strides, padding, images.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// What stands behind the window, and the window: a number, or as many extents as the input has. CausalPadding is a
/// padding of Conv1d.   Numbers: whether an option is a bare number   docs/errors/convolutions.md#conv_takes_options
template <class Layer, bool Sound = false, bool Numbers = false>
struct conv_takes_options {
  static constexpr bool holds = Sound;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a convolution takes Stride<N>, one padding, Dilation<N>, Groups<N> and NoBias; write each at most once");
  };
};

/// PyTorch's convolutions begin with the channels of their input.
template <class Layer, bool Sound>
struct conv_takes_options<Layer, Sound, true> {
  static constexpr bool holds = Sound;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a convolution knows its input's channels, and options have names; write Conv2d<64, 3, Stride<2>>");
  };
};

/// What stands behind the window.   docs/errors/convolutions.md#conv_transpose2d_takes_options
template <class Layer, bool Sound>
struct conv_transpose2d_takes_options {
  static constexpr bool holds = Sound;
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
template <class Layer, bool Sound>
struct pool_takes_options {
  static constexpr bool holds = Sound;
  struct must_hold {
    static_assert(
        holds,
        "regimen: MaxPool<N> and AveragePool<N> take Stride<N> and Padding<N>; write each at most once, and no other");
  };
};

/// Known: what stands behind the factor is Bilinear alone, or nothing.
/// docs/errors/convolutions.md#resampling_takes_mode
template <class Layer, bool Known>
struct resampling_takes_mode {
  static constexpr bool holds = Known;
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

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
