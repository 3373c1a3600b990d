// Convolutions that cuDNN computes, on the emulated device: they train what the CPU engine trains, and repeat bits.
#include "support/rounding.hpp"
#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>
#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/conv1d.hpp>
#include <regimen/layer/conv3d.hpp>
#include <regimen/layer/conv_transpose.hpp>
#include <regimen/layer/pool.hpp>
#include <regimen/trainers/inference.hpp>

#include <cstddef>
#include <type_traits>
#include <vector>

using namespace regimen;
using namespace regimen::test;
using support::as_far_as;
using support::distance;
using support::of_order;

namespace {

/// A stem, blocks of two convolutions and a sum, one by channel, one of groups and one that enlarges.
using Block =
    Residual<Conv2d<8, 3, Padding<1>, NoBias>, BatchNorm<>, Relu, Conv2d<8, 3, Padding<1>, NoBias>, BatchNorm<>>;
struct SmallResNet final
    : Model<Input<Image<8, 9, 3>>, Conv2d<8, 3, Stride<2>, Padding<1>, NoBias>, BatchNorm<>, Relu, Repeat<2, Block>,
            Relu, Conv2d<8, 3, Groups<8>, Padding<2>, Dilation<2>>, Gelu, Conv2d<6, KernelSize<2, 3>, Groups<2>>, Gelu,
            ConvTranspose2d<4, 3, Stride<2>>, MeanPool, Linear<5>> {};
/// The other layers, whose images are copies.
struct OfText final : Model<Input<Tokens<9>>, Embedding<Vocabulary<11>, 6>,
                            Repeat<2, Residual<LayerNorm, Conv1d<6, 3, CausalPadding, Dilation<2>, Groups<3>>, Gelu>>,
                            Conv1d<4, 3, Stride<2>, Padding<1>>, MeanPool, Linear<5>> {};
struct OfFrames final
    : Model<Input<Volume<4, 5, 4, 3>>, Conv3d<4, 3, Padding<1>, Stride<2>>, Gelu, MeanPool, Linear<5>> {};

template <class Network, class... Policies>
DeferredOutcome trained() {
  const ::test::Directory folder;
  Trainer<Network, Batch<4>, Policies...> trainer;
  return regimen::test::train(trainer, folder / "state");
}

/// In fp64 but for the order of sums; in other formats as far from fp64 as the CPU engine is.
template <class Network, class... Format>
void trains_like_the_cpu(const char* what) {
  INFO(what);
  const DeferredOutcome exact = trained<Network, Precision<fp64>>(),
                        there = trained<Network, Precision<fp64>, Convolution<Cudnn>, Device<Emulated>>();
  CHECK(distance(exact.numbers, there.numbers) < of_order);
  CHECK(distance(exact.weights, there.weights) < of_order);
  const auto is_as_near = [&]<class Other>(std::type_identity<Other>) {
    const DeferredOutcome here = trained<Network, Other>();
    const DeferredOutcome found = trained<Network, Other, Convolution<Cudnn>, Device<Emulated>>();
    CHECK(distance(exact.numbers, found.numbers) < as_far_as(distance(exact.numbers, here.numbers)));
    CHECK(found.numbers != exact.numbers);
  };
  (is_as_near(std::type_identity<Format>{}), ...);
}

}  // namespace

TEST_CASE("networks of convolutions train by cuDNN what they train on the CPU") {
  trains_like_the_cpu<SmallResNet, Precision<fp32>, Precision<bf16, fp32>>("a small ResNet");
  trains_like_the_cpu<OfText, Precision<fp32>>("text");
  trains_like_the_cpu<OfFrames, Precision<fp32>>("frames");
}

TEST_CASE("the form has its effect, what it plans is what it uses, and it repeats its bits") {
  using InBlocks = Trainer<SmallResNet, Batch<4>, Precision<bf16, fp32>, Convolution<Direct>, Device<Emulated>>;
  using ByLibrary = Trainer<SmallResNet, Batch<4>, Precision<bf16, fp32>, Convolution<Cudnn>, Device<Emulated>>;
  static_assert(Composable<SmallResNet, Convolution<Cudnn>, Device<Emulated>> &&
                !Composable<SmallResNet, Convolution<Cudnn>> && !Composable<SmallResNet, Convolution<Direct>>);
  // It says how a device computes, not what: one recipe for models with convolutions, attention, both and neither.
  struct Plain final : Model<Input<Vector<4>>, Linear<5>> {};
  static_assert(Composable<Plain, Convolution<Cudnn>, Device<Emulated>> &&
                Composable<Plain, Precision<bf16, fp32>, Attention<Cudnn>, Device<Emulated>>);
  static_assert(ByLibrary::plan().operations() == InBlocks::plan().operations());
  static_assert(std::is_same_v<Trainer<SmallResNet, Device<Emulated>>::Recipe::Device::Traits::convolution, Direct>);
  ByLibrary trainer;
  const std::size_t before = trainer.used().operations;  // copies of the weights in 16 bits
  trainer.fit(fake_data(), {.steps = 4, .progress = false});
  CHECK(trainer.used().operations - before == 4 * ByLibrary::plan().operations());
  CHECK(trainer.used().peak == ByLibrary::plan().peak);

  const auto weights = []<class... More>(std::type_identity<More>...) {
    return trained<SmallResNet, Precision<bf16, fp32>, Device<Emulated>, More...>().weights;
  };
  const std::vector<double> first = weights(std::type_identity<Convolution<Cudnn>>{});
  CHECK(first != weights());
  CHECK(weights() == weights(std::type_identity<Convolution<Direct>>{}));
  CHECK(first == weights(std::type_identity<Convolution<Cudnn>>{}, std::type_identity<Graph<Off>>{}));
  CHECK(first == weights(std::type_identity<Convolution<Cudnn>>{}, std::type_identity<Checkpoint<Every<1>>>{}));
}

TEST_CASE("accumulated gradients, and those of bf16 alone, are added to what is there") {
  const auto weights = []<class... More>(std::type_identity<More>...) {
    return trained<OfText, Accumulate<3>, More...>().weights;
  };
  const auto exact = weights(std::type_identity<Precision<fp64>>{});
  CHECK(distance(exact, weights(std::type_identity<Precision<fp64>>{}, std::type_identity<Convolution<Cudnn>>{},
                                std::type_identity<Device<Emulated>>{})) < of_order);
  const auto half = std::type_identity<Precision<bf16, fp32>>{};
  CHECK(distance(exact, weights(half, std::type_identity<Convolution<Cudnn>>{},
                                std::type_identity<Device<Emulated>>{})) < as_far_as(distance(exact, weights(half))));
}

TEST_CASE("Inference predicts in each form") {
  const ::test::Directory folder;
  Trainer<SmallResNet, Batch<4>, Device<Emulated>> trainer;
  trainer.fit(fake_data(), {.steps = 3, .progress = false});
  trainer.save(folder / "state");
  const auto predicted = [&]<class Form>(std::type_identity<Form>) {
    Inference<SmallResNet, Batch<1>, Precision<fp64>, Convolution<Form>, Device<Emulated>> model(folder / "state");
    return model.predict(std::vector<double>(8 * 9 * 3, 0.5));
  };
  const auto blocks = predicted(std::type_identity<Direct>{}), library = predicted(std::type_identity<Cudnn>{});
  REQUIRE(blocks.size() == 5);
  REQUIRE(library.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(std::fabs(blocks[i] - library[i]) < of_order);
}
// SPDX-License-Identifier: Apache-2.0
