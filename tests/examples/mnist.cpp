// Lessons 2, 3 and 8: digits are learnt in three number formats, and by convolution; a loop by hand ends with the weights
// of fit.
#include "mnist.hpp"
#include "by_hand.hpp"

#include "../support/data.hpp"
#include "../temporary.hpp"

#include "../support/catch.hpp"

using namespace regimen;
using mnist_lesson::ByHand;

namespace {

struct Mlp : Model<Input<Vector<784>>, Linear<64>, Relu, Linear<64>, Relu, Linear<10>> {};
template <std::size_t Channels>
using Level = Sequential<Conv2d<Channels, 3, Padding<1>, NoBias>, BatchNorm<>, Relu, MaxPool<2>>;
struct Digits : Model<Input<Image<28, 28, 1>>, Level<8>, Level<16>, Flatten, Linear<10>> {};
struct Small : Model<Input<Vector<20>>, Linear<16>, Relu, Linear<10>> {};

template <class... Policies>
void hand_equals_fit() {
  using Train = Trainer<Small, Optimizer<RmsProp>, Batch<24>, Policies...>;
  const ::test::Directory folder;
  const auto source = mnist_lesson::made_up<Train>(1000, 1), held_out = mnist_lesson::made_up<Train>(100, 2);
  const program::Options options{.steps = 60};
  Train by_fit, by_hand;
  program::Session<Train> session(by_hand, options);
  by_fit.fit(source, held_out, {.steps = 60, .progress = false});
  ByHand::learn(by_hand, source, held_out, {.steps = 60}, session);
  const auto expected = by_fit.parameters(), found = by_hand.parameters();
  REQUIRE(expected.size() == found.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(std::equal(expected[i].values.begin(), expected[i].values.end(), found[i].values.begin(),
                     found[i].values.end()));
  by_fit.save(folder / "fit");
  by_hand.save(folder / "hand");
  CHECK(::test::get(folder / "fit") ==
        ::test::get(folder / "hand"));  // and the optimizer, the loss scale, the place in the data
}

template <class Network, class... Policies>
double accuracy(std::uint64_t steps) {
  using Train = Trainer<Network, Optimizer<RmsProp>, Batch<64>, Policies...>;
  const char* const folder = std::getenv("REGIMEN_DATA");
  const Idx digits(mnist_lesson::file(folder, "images-idx3-ubyte"), mnist_lesson::file(folder, "labels-idx1-ubyte"));
  Train trainer{{.optimizer = {.learning_rate = 1e-3}}};
  trainer.fit(digits.range(0, 8000), {.steps = steps, .progress = false});
  return trainer.evaluate(digits.range(8000, 10000)).accuracy;
}

}  // namespace

TEST_CASE("a loop by hand gives the same weights as fit, bit for bit") {
  hand_equals_fit();
  hand_equals_fit<Accumulate<3>, Precision<bf16, fp32>>();
  hand_equals_fit<Precision<fp16, fp32>, LossScale<Dynamic>>();
}

TEST_CASE("MNIST is learnt to 93 % in fp32, bf16 and fp16", "[data]") {
  REGIMEN_REAL_DATA(images, "mnist-t10k-images-idx3-ubyte.gz");
  REGIMEN_REAL_DATA(labels, "mnist-t10k-labels-idx1-ubyte.gz");
  const double in_fp32 = accuracy<Mlp>(1250), in_bf16 = accuracy<Mlp, Precision<bf16, fp32>>(1250),
               in_fp16 = accuracy<Mlp, Precision<fp16, fp32>, LossScale<Dynamic>>(1250);
  std::printf("accuracy on 2000 digits: fp32 %.4f, bf16 %.4f, fp16 %.4f\n", in_fp32, in_bf16, in_fp16);
  CHECK(in_fp32 >= 0.93);
  CHECK(in_bf16 >= 0.93);
  CHECK(in_fp16 >= 0.93);
}

TEST_CASE("MNIST is learnt by convolution to 95 % in 200 steps", "[data]") {
  REGIMEN_REAL_DATA(images, "mnist-t10k-images-idx3-ubyte.gz");
  REGIMEN_REAL_DATA(labels, "mnist-t10k-labels-idx1-ubyte.gz");
  const double found = accuracy<Digits>(200);
  std::printf("accuracy on 2000 digits after 200 steps of convolutions: %.4f\n", found);
  CHECK(found >= 0.95);
}
// SPDX-License-Identifier: Apache-2.0