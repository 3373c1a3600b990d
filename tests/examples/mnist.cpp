// Lessons 2 and 3: digits are learnt in three number formats, and a loop by hand ends with the weights of fit.
#include "mnist.hpp"
#include "by_hand.hpp"

#include "../support/data.hpp"
#include "../temporary.hpp"

#include "../support/catch.hpp"

using namespace regimen;
using mnist_lesson::ByHand;

namespace {

struct Mlp : Model<Input<Vector<784>>, Linear<64>, Relu, Linear<64>, Relu, Linear<10>> {};
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

template <class... Policies>
double accuracy() {
  using Train = Trainer<Mlp, Optimizer<RmsProp>, Batch<64>, Policies...>;
  const char* const folder = std::getenv("REGIMEN_DATA");
  const Idx digits(mnist_lesson::file(folder, "images-idx3-ubyte"), mnist_lesson::file(folder, "labels-idx1-ubyte"));
  Train trainer{{.optimizer = {.learning_rate = 1e-3}}};
  trainer.fit(digits.range(0, 8000), {.steps = 1250, .progress = false});
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
  const double in_fp32 = accuracy<>(), in_bf16 = accuracy<Precision<bf16, fp32>>(),
               in_fp16 = accuracy<Precision<fp16, fp32>, LossScale<Dynamic>>();
  std::printf("accuracy on 2000 digits: fp32 %.4f, bf16 %.4f, fp16 %.4f\n", in_fp32, in_bf16, in_fp16);
  CHECK(in_fp32 >= 0.93);
  CHECK(in_bf16 >= 0.93);
  CHECK(in_fp16 >= 0.93);
}
// SPDX-License-Identifier: Apache-2.0
