// regimen/models/resnet.hpp — residual networks of convolutions: the published sizes, as in torchvision and Keras.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/patches.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/models/names.hpp>
#include <regimen/models/rules.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace regimen {

/// The parts of a ResNet, and its options.
namespace resnet {

/// For images of 32 x 32: the stem is a 3x3 of stride 1 without a pool, instead of a 7x7 of stride 2 and a max pool.
struct CifarStem final {};
/// Stages halve the image in the first 1x1 of a bottleneck (He et al. 2016, Keras), not in its 3x3 (torchvision,
/// "v1.5").
struct StrideInFirst final {};
/// Convolutions have biases, as in Keras' weights, although the norms after them cancel every bias.
struct ConvBias final {};
/// The head reads each channel's largest value, not its mean.
struct MaxPooling final {};
/// Channels of the first stage's 3x3; each stage has twice as many as the one before.
template <std::size_t Channels>
struct Width final {};

/// Blocks in each stage.
template <std::size_t... Blocks>
struct Depths final {};

/// Keras' norm: its epsilon, and its momentum of 0.99, which is the weight of the old statistics.
using KerasNorm = BatchNorm<Epsilon<Ratio<1'001, 100'000'000>>, Momentum<Ratio<1, 100>>>;

/// The branch of a block: two 3x3 convolutions.
struct Basic final {
  static constexpr std::size_t expansion = 1;
  template <class Form, std::size_t Channels, std::size_t Step>
  using branch =
      Sequential<typename Form::template conv<Channels, 3, Step>, Relu, typename Form::template conv<Channels, 3>>;
  static constexpr std::size_t count(const auto& conv, std::size_t in, std::size_t channels) {
    return conv(in, channels, 3) + conv(channels, channels, 3);
  }
  static constexpr auto names = regimen::names::list(regimen::names::conv2d("conv1"), regimen::names::layer("bn1"),
                                                     regimen::names::conv2d("conv2"), regimen::names::layer("bn2"));
};
/// The branch of a block: a 1x1 convolution, a 3x3, and a 1x1 to four times the channels.
struct Bottleneck final {
  static constexpr std::size_t expansion = 4;
  template <class Form, std::size_t Channels, std::size_t Step>
  using branch = Sequential<typename Form::template conv<Channels, 1, Form::stride_in_first ? Step : 1>, Relu,
                            typename Form::template conv<Channels, 3, Form::stride_in_first ? 1 : Step>, Relu,
                            typename Form::template conv<4 * Channels, 1>>;
  static constexpr std::size_t count(const auto& conv, std::size_t in, std::size_t channels) {
    return conv(in, channels, 1) + conv(channels, channels, 3) + conv(channels, 4 * channels, 1);
  }
  static constexpr auto names =
      regimen::names::list(Basic::names, regimen::names::conv2d("conv3"), regimen::names::layer("bn3"));
};

}  // namespace resnet

namespace detail {

template <class... Options>
struct resnet_options {
  using Norm = BatchNorm<>;
  static constexpr bool cifar_stem = false, stride_in_first = false, conv_bias = false, max_pooling = false;
  static constexpr std::size_t width = 64;
  static constexpr bool known = sizeof...(Options) == 0;
  static constexpr std::array<unsigned, 6> given{};
};
/// The options without the first, which is number i.
template <std::size_t i, class... Rest>
struct resnet_option : resnet_options<Rest...> {
  static constexpr std::array<unsigned, 6> given = [] {
    auto all = resnet_options<Rest...>::given;
    ++all[i];
    return all;
  }();
};
template <class... Rest>
struct resnet_options<resnet::CifarStem, Rest...> : resnet_option<0, Rest...> {
  static constexpr bool cifar_stem = true;
};
template <class... Rest>
struct resnet_options<resnet::StrideInFirst, Rest...> : resnet_option<1, Rest...> {
  static constexpr bool stride_in_first = true;
};
template <class... Rest>
struct resnet_options<resnet::ConvBias, Rest...> : resnet_option<2, Rest...> {
  static constexpr bool conv_bias = true;
};
template <class... Rest>
struct resnet_options<resnet::MaxPooling, Rest...> : resnet_option<3, Rest...> {
  static constexpr bool max_pooling = true;
};
template <std::size_t Channels, class... Rest>
struct resnet_options<resnet::Width<Channels>, Rest...> : resnet_option<4, Rest...> {
  static constexpr std::size_t width = Channels;
};
template <class... Of, class... Rest>
struct resnet_options<in_order::BatchNorm<Of...>, Rest...> : resnet_option<5, Rest...> {
  using Norm = in_order::BatchNorm<Of...>;
};

/// The norm after a convolution with a bias.
template <class Norm>
struct norm_after_bias;
template <class... Of>
struct norm_after_bias<in_order::BatchNorm<Of...>> {
  using type = std::conditional_t<in_order::BatchNorm<Of...>::Chosen::after_bias, in_order::BatchNorm<Of...>,
                                  BatchNorm<Of..., AfterBias>>;
};

template <class Block, class... Options>
struct resnet_form {
  using Chosen = resnet_options<Options...>;
  static constexpr bool stride_in_first = Chosen::stride_in_first;
  static constexpr bool is_known = [] {
    bool known = Chosen::known && !(stride_in_first && Block::expansion == 1);
    for (const unsigned times : Chosen::given) known &= times <= 1;
    return known;
  }();
  using Norm = typename std::conditional_t<Chosen::conv_bias, norm_after_bias<typename Chosen::Norm>,
                                           std::type_identity<typename Chosen::Norm>>::type;
  template <std::size_t Channels, std::size_t Window, std::size_t Step>
  using convolution = std::conditional_t<Chosen::conv_bias, Conv2d<Channels, Window, Stride<Step>, Padding<Window / 2>>,
                                         Conv2d<Channels, Window, Stride<Step>, Padding<Window / 2>, NoBias>>;
  template <std::size_t Channels, std::size_t Window, std::size_t Step = 1>
  using conv = Sequential<convolution<Channels, Window, Step>, Norm>;

  template <std::size_t Channels, std::size_t Step, class Shortcut>
  using block = Sequential<Fork<Add, Shortcut, typename Block::template branch<resnet_form, Channels, Step>>, Relu>;
  template <std::size_t Channels>
  using plain = block<Channels, 1, Identity>;
  template <std::size_t Channels, std::size_t Step>
  using first = block<Channels, Step, conv<Block::expansion * Channels, 1, Step>>;

  /// Later stages begin with a block that halves the image; a first stage of bottlenecks, with one that only projects.
  template <std::size_t Depth, std::size_t channels, class First>
  using from_first = std::conditional_t<Depth == 1, First, Sequential<First, Repeat<Depth - 1, plain<channels>>>>;
  template <std::size_t stage, std::size_t Depth, std::size_t channels = (Chosen::width << stage)>
  using stage_of = std::conditional_t<stage == 0 && Block::expansion == 1,
                                      std::conditional_t<Depth == 1, plain<channels>, Repeat<Depth, plain<channels>>>,
                                      from_first<Depth, channels, first<channels, stage == 0 ? 1 : 2>>>;

  using stem = std::conditional_t<Chosen::cifar_stem, Sequential<conv<Chosen::width, 3>, Relu>,
                                  Sequential<conv<Chosen::width, 7, 2>, Relu, MaxPool<3, Stride<2>, Padding<1>>>>;
  using head = std::conditional_t<Chosen::max_pooling, GlobalMaxPool, GlobalAveragePool>;

  template <class Kind, std::size_t Classes, class Stages, class Depths>
  struct of;
  template <class Kind, std::size_t Classes, std::size_t... stage, std::size_t... Depth>
  struct of<Kind, Classes, std::index_sequence<stage...>, resnet::Depths<Depth...>> {
    using type = Model<Input<Kind>, stem, stage_of<stage, Depth>..., head, Linear<Classes>>;
  };
};

/// By the formula of the architecture, not from the layers.
template <class Block, class... Options>
constexpr std::size_t resnet_parameters(std::size_t image_channels, std::size_t classes, const auto& depths) {
  using Chosen = resnet_options<Options...>;
  const auto conv = [](std::size_t in, std::size_t out, std::size_t window) {  // with its norm
    return window * window * in * out + (Chosen::conv_bias ? 3 : 2) * out;
  };
  std::size_t all = conv(image_channels, Chosen::width, Chosen::cifar_stem ? 3 : 7), in = Chosen::width;
  for (std::size_t stage = 0; stage < depths.size(); ++stage)
    for (std::size_t i = 0; i < depths[stage]; ++i) {
      const std::size_t channels = Chosen::width << stage, out = Block::expansion * channels;
      if (i == 0 && (stage > 0 || in != out)) all += conv(in, out, 1);
      all += Block::count(conv, in, channels);
      in = out;
    }
  return all + (in + 1) * classes;
}

template <class Block, std::size_t stage>
constexpr auto resnet_stage_names(std::size_t depth) {
  if constexpr (stage == 0 && Block::expansion == 1) return names::repeat(depth, "layer1.{}.", Block::names);
  else
    return names::repeat_from(
        stage + 1, 1, "layer{}.",
        names::inside("0.", names::inside("downsample.", names::conv2d("0"), names::layer("1")), Block::names),
        names::repeat_from(1, depth - 1, "{}.", Block::names));
}
template <class Block, std::size_t... stage, std::size_t... Depth>
constexpr auto resnet_encoder_names(std::index_sequence<stage...>, resnet::Depths<Depth...>) {
  return names::list(names::conv2d("conv1"), names::layer("bn1"), resnet_stage_names<Block, stage>(Depth)...,
                     names::ignore("*.num_batches_tracked"));
}

}  // namespace detail

/// A residual network: a stem, stages of blocks y = relu(branch(x) + shortcut(x)), the mean over all positions, and one
/// Linear. A shortcut is x; where the shape changes, a 1x1 with a norm. Every convolution is followed by a BatchNorm.
///
///   Kind      Image<Height, Width, Channels>; the default stem divides height and width by 4, each stage except the
///             first by 2
///   Classes   logits
///   Block     resnet::Basic or resnet::Bottleneck
///   Depths    resnet::Depths<3, 4, 6, 3>: blocks in each stage
///   Options   in any order: resnet::CifarStem, StrideInFirst, ConvBias, MaxPooling, Width<64>; a BatchNorm<...>, which
///             takes the place of BatchNorm<> (BatchNorm<PerMicroBatch> among ranks, BatchNorm<OverRanks>,
///             resnet::KerasNorm)
///
///   struct Cifar : ResNet18<Image<32, 32, 3>, 10, resnet::CifarStem> {};
///   struct Keras : ResNet50<Image<224, 224, 3>, 1000, resnet::StrideInFirst, resnet::ConvBias, resnet::KerasNorm> {};
///
/// torchvision_names are the names of torchvision's files, with biases of convolutions as it would call them:
///
///   names::load<Cifar::torchvision_names>(trainer, "resnet18.safetensors");
///
/// torchvision_encoder_names are the names for EncoderOf<Cifar>: all names except the head's (models/layers_of.hpp).
/// torchvision counts the batches of its norms (num_batches_tracked), which Regimen does not use: reading ignores these
/// counts, writing leaves them out, and load_state_dict does not need them. Compile time does not depend on the depths:
/// a stage is its first block and a Repeat. Initial weights are those that the layers choose (Conv2d: uniform in
/// ±1/√fan-in), not torchvision's (normal, of variance 2/fan-out) or Keras' (Glorot's).
/// refuses  stages without blocks, options that it does not have, and StrideInFirst of basic blocks, whose first
///          convolution has the stride anyway
/// source   He et al. 2016, "Deep residual learning for image recognition", table 1; the stride in the 3x3 is
///          torchvision's
template <class Kind, std::size_t Classes, class Block, class Depths, class... Options>
struct ResNetModel;
template <class Kind, std::size_t Classes, class Block, std::size_t... Depth, class... Options>
struct ResNetModel<Kind, Classes, Block, resnet::Depths<Depth...>, Options...>
    : detail::resnet_form<Block, Options...>::template of<Kind, Classes, std::make_index_sequence<sizeof...(Depth)>,
                                                          resnet::Depths<(Depth > 0 ? Depth : 1)...>>::type {
  static_assert(sizeof(typename rule::extents_at_least_one<resnet::Depths<Depth...>, Depth...>::must_hold));
  static_assert(sizeof(
      typename rule::resnet_takes_option<detail::resnet_form<Block, Options...>::is_known, Options...>::must_hold));
  static constexpr std::size_t parameter_count = detail::resnet_parameters<Block, Options...>(
      Kind::template value<float>::columns, Classes, std::array<std::size_t, sizeof...(Depth)>{Depth...});
  static constexpr auto torchvision_encoder_names = detail::resnet_encoder_names<Block>(
      std::make_index_sequence<sizeof...(Depth)>{}, resnet::Depths<(Depth > 0 ? Depth : 1)...>{});
  static constexpr auto torchvision_names = names::list(torchvision_encoder_names, names::layer("fc"));
};

/// The published sizes.
template <class Kind = Image<224, 224, 3>, std::size_t Classes = 1000, class... Options>
struct ResNet18 : ResNetModel<Kind, Classes, resnet::Basic, resnet::Depths<2, 2, 2, 2>, Options...> {};
template <class Kind = Image<224, 224, 3>, std::size_t Classes = 1000, class... Options>
struct ResNet34 : ResNetModel<Kind, Classes, resnet::Basic, resnet::Depths<3, 4, 6, 3>, Options...> {};
template <class Kind = Image<224, 224, 3>, std::size_t Classes = 1000, class... Options>
struct ResNet50 : ResNetModel<Kind, Classes, resnet::Bottleneck, resnet::Depths<3, 4, 6, 3>, Options...> {};
template <class Kind = Image<224, 224, 3>, std::size_t Classes = 1000, class... Options>
struct ResNet101 : ResNetModel<Kind, Classes, resnet::Bottleneck, resnet::Depths<3, 4, 23, 3>, Options...> {};
template <class Kind = Image<224, 224, 3>, std::size_t Classes = 1000, class... Options>
struct ResNet152 : ResNetModel<Kind, Classes, resnet::Bottleneck, resnet::Depths<3, 8, 36, 3>, Options...> {};
static_assert(ResNet18<>::parameter_count == 11'689'512 && ResNet34<>::parameter_count == 21'797'672 &&
              ResNet50<>::parameter_count == 25'557'032 && ResNet101<>::parameter_count == 44'549'160 &&
              ResNet152<>::parameter_count == 60'192'808);
static_assert(ResNet18<Image<32, 32, 3>, 10, resnet::CifarStem>::parameter_count == 11'173'962);
// Keras' ResNet50 with 10 classes: its convolutions have 26,560 biases. The place of the stride changes no count.
static_assert(ResNet50<Image<32, 32, 3>, 10>::parameter_count == 23'528'522);
static_assert(ResNet50<Image<32, 32, 3>, 10, resnet::StrideInFirst, resnet::ConvBias>::parameter_count == 23'555'082);

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
