// The network of convolutions by which a comparison of batches on TPUs classifies photographs of flowers: its count, its
// gradients, and that it learns labels that are distributions.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

using namespace regimen;

namespace {

/// In Keras so many times Conv2D(Filters, 3, padding="same", activation="relu"), Flatten, Dense(5), Softmax in float32;
/// here the softmax is the loss's, and Linear's output fp32.
template <std::size_t Side, std::size_t Filters, std::size_t Layers>
using ConvStack = Model<Input<Image<Side, Side, 3>>, Conv2d<Filters, 3, Padding<1>>, Relu,
                        Repeat<Layers - 1, Sequential<Conv2d<Filters, 3, Padding<1>>, Relu>>, Flatten, Linear<5>>;
/// Keras' default, glorot_uniform, with biases of zero. Without a norm between layers it matters: from Conv2d's own
/// initialisation, which is PyTorch's, seven layers leave a few thousandths of the picture.
/// source   Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward neural networks"
struct Glorot final {
  using option_of = axis::init;
  static InitialValue initial(const Parameter& parameter, const ParameterContext&) {
    if (parameter.role == ParameterRole::bias) return {InitialValue::Kind::zero, 0};
    const auto& extents = parameter.extents;  // outputs, the window of a convolution, inputs
    const std::size_t window = parameter.rank == 4 ? extents[1] * extents[2] : 1;
    const std::size_t fans = parameter.size() / extents[0] + extents[0] * window;
    return {InitialValue::Kind::uniform, std::sqrt(6 / double(fans))};
  }
};
struct Flowers final : ConvStack<331, 64, 7> {};
struct Small final : ConvStack<6, 4, 7> {};

template <class... Policies>
constexpr MemoryPlan plan = Trainer<Flowers, Batch<64>, Loss<SoftCrossEntropy>, Policies...>::plan();
constexpr std::size_t first = (9 * 3 + 1) * 64, others = 6 * (9 * 64 + 1) * 64, dense = 331 * 331 * 64 * 5 + 5;
static_assert(first == 1'792 && others == 221'568 && dense == 35'059'525);
static_assert(plan<>.parameters == 35'282'885 && first + others + dense == 35'282'885);
// One activation of 64 pictures takes 1.67 GiB in fp32; backward reads at least seven, which bf16 halves.
constexpr std::size_t activation = std::size_t{64} * 331 * 331 * 64 * 4;
static_assert(plan<>.peak > 7 * activation && plan<>.peak < 10 * activation);
static_assert(plan<Precision<bf16, fp32>>.peak < plan<>.peak * 6 / 10);
static_assert(plan<Checkpoint<Every<1>>>.peak < plan<>.peak);

/// The pictures of Fake, whose label is a distribution over five classes: all of it is the label's.
struct OneHot {
  Fake fake{{.samples = 40, .classes = 5, .seed = 3}};
  std::size_t size(const SampleShape&) const { return 40; }
  template <class T>
  void read(std::size_t index, Sample<T, T> sample) const {
    std::int32_t label = 0;
    fake.read(index, Sample<T, std::int32_t>{sample.input, {&label, 1}});
    std::fill(sample.target.begin(), sample.target.end(), T(0));
    sample.target[static_cast<std::size_t>(label)] = 1;
  }
};
template <class... Policies>
double loss_after(std::uint64_t steps) {
  Trainer<Small, Batch<8>, Loss<SoftCrossEntropy>, Init<Glorot>, Policies...> trainer{
      {.optimizer = {.learning_rate = 3e-3}}};
  trainer.poison_dead_memory();
  const double loss = trainer.fit(OneHot{}, {.steps = steps, .progress = false}).loss;
  CHECK(trainer.used().peak == trainer.planned().peak);
  return loss;
}

}  // namespace

TEST_CASE("a stack of convolutions has the gradients of calculus") {
  // Steps so small that none crosses a kink of Relu; rounding grows as 1/h.
  CHECK(gradient_check<Small, Batch<3>, Precision<fp64>>({6, 1e-5, 1}).worst < 1e-6);
}
TEST_CASE("a stack of convolutions learns labels that are distributions, in fp32 and in bf16") {
  const double chance = std::log(5.0);
  CHECK(std::abs(loss_after<>(1) - chance) < 0.1 * chance);
  CHECK(loss_after<>(90) < 0.2 * chance);
  CHECK(loss_after<Precision<bf16, fp32>>(90) < 0.2 * chance);
  CHECK(loss_after<Checkpoint<Every<1>>>(20) == loss_after<>(20));
}
// SPDX-License-Identifier: Apache-2.0
