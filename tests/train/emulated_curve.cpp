// Fifty steps on the emulated device follow those of the CPU engine. [lesson] (run by its name) trains lesson 1's
// network.
#include "support/rounding.hpp"
#include "support/small_gpt.hpp"
#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>

#include <type_traits>
#include <vector>

namespace {

using namespace regimen;
using support::as_far_as;
using support::distance;

template <class Train>
std::vector<double> curve() {
  std::vector<double> losses;
  Train trainer;
  trainer.fit(Fake({.samples = 64, .classes = 7, .seed = 2}), {.steps = 50, .progress = false},
              [&](Train&, trainers::TrainingEvent<Train> event) { losses.push_back(event.loss); });
  CHECK(losses.size() == 50);
  return losses;
}

/// Each curve, beside that of fp64. What rounds is enlarged by the same steps on both engines, however many, so that
/// the CPU engine's distance measures the device's: see support/rounding.hpp.
template <class Network, class... Policies>
void follows_the_cpu() {
  const std::vector<double> exact = curve<Trainer<Network, Policies..., Precision<fp64>>>();
  CHECK(exact.back() < exact.front());
  const auto expect_near = [&]<class Format>(std::type_identity<Format>) {
    const double may = as_far_as(distance(exact, curve<Trainer<Network, Policies..., Format>>()));
    const double found = distance(exact, curve<Trainer<Network, Policies..., Format, Device<Emulated>>>());
    INFO(found << " from fp64, at most " << may);
    CHECK(found > 0);
    CHECK(found < may);
    return may;
  };
  const double may = expect_near(std::type_identity<Precision<fp32>>{});
  expect_near(std::type_identity<Precision<bf16, fp32>>{});
  CHECK(distance(exact, curve<Trainer<Network, Policies..., Precision<fp64>, Device<Emulated>>>()) <
        may * support::fp64_to_fp32);
}

using LessonBlock = Sequential<Residual<LayerNorm, SelfAttention<Heads<4>, Causal>>,
                               Residual<LayerNorm, Linear<512>, GeluTanh, Linear<128>>>;
struct LessonGpt final : Model<Input<Tokens<64>>, Embedding<Vocabulary<256>, 128>, PositionEmbedding,
                               Repeat<4, LessonBlock>, LayerNorm, Linear<256>> {};

}  // namespace

TEST_CASE("fifty steps of a GPT of 2 x 32 on the emulated device follow the CPU engine's") {
  follows_the_cpu<support::SmallGpt, Batch<4>>();
}

TEST_CASE("fifty steps of lesson 1's GPT on the emulated device follow the CPU engine's", "[.lesson]") {
  follows_the_cpu<LessonGpt, Batch<4>>();
}
// SPDX-License-Identifier: Apache-2.0
