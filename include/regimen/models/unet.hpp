// regimen/models/unet.hpp — U-Net: a class for every pixel.
#pragma once

#include <regimen/layer/activation.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/models/names.hpp>

#include <cstddef>
#include <utility>

namespace regimen {

/// How a U-Net doubles height and width.
namespace unet {

/// A transposed convolution, which halves the channels.
struct Transposed final {
  static constexpr bool halves_channels = true;
  template <std::size_t Channels>
  using layer = ConvTranspose2d<Channels, 2, Stride<2>>;
};
/// Interpolation between pixels, without parameters: the convolutions before it halve the channels.
struct Interpolated final {
  static constexpr bool halves_channels = false;
  template <std::size_t Channels>
  using layer = Upsample<2, Bilinear>;
};

/// The output of an encoder's level, for the decoder's level.
template <class Kind, std::size_t Channels, std::size_t level>
struct Skip final : NamedValue<Shape<1>> {};  // of no image, which MaxPool refuses
template <std::size_t Height, std::size_t Width, std::size_t Depth, std::size_t Channels, std::size_t level>
struct Skip<Image<Height, Width, Depth>, Channels, level> final
    : NamedValue<Shape<(Height >> level), (Width >> level), (Channels << level)>> {};

}  // namespace unet

namespace detail {

template <class Kind, std::size_t Classes, std::size_t Channels, std::size_t Depth, class Up, class Norm>
struct unet_layers {
  template <std::size_t Middle, std::size_t Out = Middle>
  using convolutions =
      Sequential<Conv2d<Middle, 3, Padding<1>, NoBias>, Norm, Relu, Conv2d<Out, 3, Padding<1>, NoBias>, Norm, Relu>;
  static constexpr std::size_t wide(std::size_t level) { return Channels << level; }
  /// Channels of the value that Up enlarges to the level above, if Up keeps them.
  static constexpr std::size_t narrow(std::size_t level) {
    return wide(Up::halves_channels || level == 0 ? level : level - 1);
  }
  template <std::size_t level>
  using skip = unet::Skip<Kind, Channels, level>;
  template <std::size_t level>
  using down =
      Sequential<Keep<skip<level>>, MaxPool<2>, convolutions<level + 1 == Depth ? narrow(level + 1) : wide(level + 1)>>;
  template <std::size_t level>
  using up = Sequential<typename Up::template layer<wide(level)>, Fork<Concat, Read<skip<level>>, Identity>,
                        convolutions<wide(level), narrow(level)>>;
  template <class Levels>
  struct of;
  template <std::size_t... level>
  struct of<std::index_sequence<level...>> {
    using type =
        Model<Input<Kind>, convolutions<Channels>, down<level>..., up<Depth - 1 - level>..., Conv2d<Classes, 1>>;
  };
};

/// By the formula of the architecture, not from the layers.
template <bool halves_channels>
constexpr std::size_t unet_parameters(std::size_t image_channels, std::size_t classes, std::size_t channels,
                                      std::size_t depth) {
  const auto convolutions = [](std::size_t in, std::size_t middle, std::size_t out) {
    return 9 * in * middle + 2 * middle + 9 * middle * out + 2 * out;
  };
  std::size_t all = convolutions(image_channels, channels, channels) + (channels + 1) * classes;
  for (std::size_t level = 0; level < depth; ++level) {
    const std::size_t here = channels << level, below = 2 * here;
    const bool is_narrow = !halves_channels;
    const std::size_t deepest = is_narrow && level + 1 == depth ? here : below;
    all += convolutions(here, deepest, deepest);
    if (halves_channels) all += 4 * below * here + here;
    all += convolutions(2 * here, here, is_narrow && level > 0 ? here / 2 : here);
  }
  return all;
}

template <bool halves_channels>
constexpr auto unet_names(std::size_t depth) {
  constexpr auto convolutions =
      names::inside("double_conv.", names::conv2d("0"), names::layer("1"), names::conv2d("3"), names::layer("4"));
  constexpr auto up = [](const auto& then) {
    if constexpr (halves_channels) return names::list(names::conv2d("up"), then);
    else return then;
  }(names::inside("conv.", convolutions));
  return names::list(names::inside("inc.", convolutions),
                     names::repeat_from(1, depth, "down{}.", names::inside("maxpool_conv.1.", convolutions)),
                     names::repeat_from(1, depth, "up{}.", up), names::conv2d("outc.conv"),
                     names::ignore("*.num_batches_tracked"));
}

}  // namespace detail

/// U-Net: an encoder that halves the image Depth times and doubles the channels, a decoder that goes back, and at every
/// level a connection, through which the decoder reads the encoder's output. Two 3x3 with norm and ReLU at every level;
/// a 1x1 makes the logits of every pixel, y (B,H,W,Classes). A loss counts each pixel as a row.
///
///   Kind       Image<Height, Width, C>, both multiples of 2^Depth
///   Channels   of the first level
///   Up         unet::Transposed, or unet::Interpolated, whose pixels lie as Upsample's (PyTorch's align_corners=False)
///   Norm       BatchNorm<...>, or another
///
///   struct Mine : UNetModel<Image<96, 96, 3>, 2> {};
///
/// Pixels whose target is ignore_index do not count: the loss is the mean over the others. (The work for these pixels
/// is done all the same, since shapes are types.) tests/train/segmentation.cpp trains one, with IoU as its metric.
///
/// pytorch_unet_names are the names of the program that most PyTorch users have (github.com/milesial/Pytorch-UNet), as
/// names::load and names::save take them. Its form with bilinear upsampling has the tensors of unet::Interpolated, but
/// places pixels in another way (align_corners=True): with weights that it trained, UNetModel is another network.
///
/// source   Ronneberger, Fischer, Brox 2015, "U-Net: convolutional networks for biomedical image segmentation", figure
///          1. As usual today convolutions are padded, so the output is as large as the input, and a norm takes the
///          place of their biases
/// cost     each level's connection and its gradient stay in memory from the beginning of forward to the end of
///          backward (Keep, Read)
template <class Kind, std::size_t Classes, std::size_t Channels = 64, std::size_t Depth = 4,
          class Up = unet::Transposed, class Norm = BatchNorm<>>
struct UNetModel : detail::unet_layers<Kind, Classes, Channels, Depth, Up,
                                       Norm>::template of<std::make_index_sequence<Depth>>::type {
  static constexpr std::size_t parameter_count =
      detail::unet_parameters<Up::halves_channels>(Kind::template value<float>::columns, Classes, Channels, Depth);
  static constexpr auto pytorch_unet_names = detail::unet_names<Up::halves_channels>(Depth);
};

/// The form of the paper, for one channel and two classes; and both forms for pictures in colour.
static_assert(UNetModel<Image<512, 512, 1>, 2>::parameter_count == 31'036'546 &&
              UNetModel<Image<512, 512, 3>, 2>::parameter_count == 31'037'698 &&
              UNetModel<Image<512, 512, 3>, 1, 64, 4, unet::Interpolated>::parameter_count == 17'262'977);

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
