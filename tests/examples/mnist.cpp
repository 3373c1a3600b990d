// Lessons 2, 3, 8 and 13: digits are learnt in three number formats, by convolution, and in batches of 8192; a loop by hand
// ends with the weights of fit.
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

/// 784-Width-Width-10, RMSprop 1e-3 with Keras' memory, five epochs of six batches: 8,000 images, each six times.
template <std::size_t Width>
struct Perceptron : Model<Input<Vector<784>>, Linear<Width>, Relu, Linear<Width>, Relu, Linear<10>> {};
template <std::size_t Width>
using Recipe = Trainer<Perceptron<Width>, Optimizer<RmsProp>, Batch<8192>>;
static_assert(Recipe<4096>::plan().parameters == 20'037'642 && Recipe<64>::plan().parameters == 55'050);

template <std::size_t Width>
double accuracy_of_recipe() {
  const char* const folder = std::getenv("REGIMEN_DATA");
  const Idx digits(mnist_lesson::file(folder, "images-idx3-ubyte"), mnist_lesson::file(folder, "labels-idx1-ubyte"));
  Recipe<Width> trainer{{.optimizer = {.learning_rate = 1e-3, .alpha = 0.9}}};
  const mnist_lesson::Shifted images(digits.range(0, 8000), 6);
  CHECK(images.size(Recipe<Width>::sample_shape()) == 48'000);
  const Fitted fitted = trainer.fit(images, {.epochs = 5, .progress = false});
  CHECK(fitted.steps == 30);
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

TEST_CASE("images that are moved keep their labels and lose what leaves the frame", "[data]") {
  REGIMEN_REAL_DATA(images, "mnist-t10k-images-idx3-ubyte.gz");
  REGIMEN_REAL_DATA(labels, "mnist-t10k-labels-idx1-ubyte.gz");
  const Idx digits = Idx(images.string(), labels.string()).range(5, 8);
  const mnist_lesson::Shifted shifted(digits, 6);
  std::vector<float> image(784), moved(784);
  std::int32_t label = 0, same = 0;
  const auto pixel = [](const std::vector<float>& of, int x, int y) {
    return x < 0 || y < 0 || x > 27 || y > 27 ? 0.0f : of[static_cast<std::size_t>(y * 28 + x)];
  };
  const int by[6][2] = {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}};
  for (std::size_t i = 0; i < 3 * 6; ++i) {
    digits.read(i / 6, Sample<float, std::int32_t>{image, std::span(&label, 1)});
    shifted.read(i, Sample<float, std::int32_t>{moved, std::span(&same, 1)});
    CHECK(same == label);
    bool is_moved = true;
    for (int y = 0; y < 28; ++y)
      for (int x = 0; x < 28; ++x)
        is_moved = is_moved && pixel(moved, x, y) == pixel(image, x - by[i % 6][0], y - by[i % 6][1]);
    CHECK(is_moved);
    CHECK((moved == image) == (i % 6 == 0));
  }
}

TEST_CASE("a narrow perceptron learns MNIST in thirty steps of 8192", "[data]") {
  REGIMEN_REAL_DATA(images, "mnist-t10k-images-idx3-ubyte.gz");
  REGIMEN_REAL_DATA(labels, "mnist-t10k-labels-idx1-ubyte.gz");
  const double found = accuracy_of_recipe<64>();
  std::printf("accuracy on 2000 digits after 30 steps of 8192, 64 wide: %.4f\n", found);
  CHECK(found >= 0.80);
}

// 290 s of processor time on two cores of Zen 3: 0.9500.
TEST_CASE("the wide perceptron of the recipe learns MNIST to 90 % in thirty steps of 8192", "[.recipe]") {
  REGIMEN_REAL_DATA(images, "mnist-t10k-images-idx3-ubyte.gz");
  REGIMEN_REAL_DATA(labels, "mnist-t10k-labels-idx1-ubyte.gz");
  const double found = accuracy_of_recipe<4096>();
  std::printf("accuracy on 2000 digits after 30 steps of 8192, 4096 wide: %.4f\n", found);
  CHECK(found >= 0.90);
}
// SPDX-License-Identifier: Apache-2.0
