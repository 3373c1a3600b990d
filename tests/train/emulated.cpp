// The CUDA engine on a device that is emulated on the host trains what the CPU engine trains, late and by graphs.
#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/train/inference.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace regimen;
using namespace regimen::test;

namespace {

using EmulatedEngine = engine::Of<Emulated>::type;

/// Devices and engines are made with these until the end of the scope.
struct With {
  With(const emulated::Options& options, bool captures) {
    emulated::Runtime::defaults = options;
    EmulatedEngine::captures = captures;
  }
  With(const With&) = delete;
  ~With() {
    emulated::Runtime::defaults = {};
    EmulatedEngine::captures = true;
  }
};

template <class Train>
DeferredOutcome trained() {
  const ::test::Directory folder;
  Train trainer;
  return regimen::test::train(trainer, folder / "state");
}

/// The largest distance between two lists, in units of the larger number.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = (std::max)(largest, std::fabs(a[i] - b[i]) / (std::max)({std::fabs(a[i]), std::fabs(b[i]), 1.0}));
  return largest;
}

/// In fp64 both engines differ by their order of sums alone: 12 steps of sums of at most some thousand terms, each
/// 2^-53, in a network whose steps enlarge a difference by less than two: 2^12 * 1e4 * 2^-53 < 1e-8. In fp32 and tf32
/// the device is about as far from fp64 as the CPU engine is.
template <class Network, class... Policies>
void trains_like_the_cpu(const char* what) {
  INFO(what);
  const DeferredOutcome exact = trained<Trainer<Network, Policies..., Precision<fp64>>>();
  const DeferredOutcome here = trained<Trainer<Network, Policies..., Precision<fp64>, Device<Emulated>>>();
  CHECK(distance(exact.numbers, here.numbers) < 1e-8);
  CHECK(distance(exact.weights, here.weights) < 1e-8);
  const auto is_as_near = [&]<class Format>(std::type_identity<Format>) {
    const DeferredOutcome rounded = trained<Trainer<Network, Policies..., Format>>();
    const DeferredOutcome rounded_here = trained<Trainer<Network, Policies..., Format, Device<Emulated>>>();
    CHECK(distance(exact.numbers, rounded_here.numbers) < 4 * distance(exact.numbers, rounded.numbers) + 0x1p-20);
    CHECK(rounded_here.numbers != exact.numbers);
    return rounded_here.numbers;
  };
  CHECK(is_as_near(std::type_identity<Precision<fp32>>{}) != is_as_near(std::type_identity<Precision<tf32>>{}));
}

/// Whatever the device does first, by graphs or by single launches: the same bits, also of what is trained again from a
/// saved state.
template <class Train>
void trains_the_same_in_any_order(const char* what) {
  INFO(what);
  DeferredOutcome first;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (const bool captures : {true, false}) {
      const With with({.seed = seed}, captures);
      const DeferredOutcome outcome = trained<Train>();
      if (first.numbers.empty()) first = outcome;
      else CHECK(outcome == first);
    }
}

}  // namespace

TEST_CASE("a GPT trains on the emulated device as it does on the CPU") {
  trains_like_the_cpu<Gpt<3>, Batch<4>, Accumulate<2>, Checkpoint<Every<2>>, Clip<Norm<Ratio<1>>>>(
      "with dropout, accumulated and computed again");
  trains_like_the_cpu<Mlp, Batch<4>, Optimizer<Sgd>>("an MLP");
}

TEST_CASE("graphs and single launches, in any order that streams allow, train the same bits") {
  trains_the_same_in_any_order<Trainer<Gpt<3>, Batch<4>, Accumulate<2>, Device<Emulated>>>("a GPT");
  trains_the_same_in_any_order<
      Trainer<Tied<2>, Batch<3>, Precision<bf16, fp32>, Checkpoint<Selective<LayerNorm>>, Device<Emulated>>>(
      "a tied table, bf16");
  trains_the_same_in_any_order<Trainer<Mlp, Batch<4>, Precision<fp16, fp32>, LossScale<Dynamic>, Device<Emulated>>>(
      "fp16, and a loss scale that moves");
}

// AdamW moves a weight by its rate, 1e-3, in the direction of its gradient; one that is zero but for rounding may have
// any sign.
TEST_CASE("blocks of threads whose barriers are checked train within the rounding of serial blocks") {
  using Train = Trainer<Gpt<2>, Batch<2>, Device<Emulated>>;
  const auto run = [] {
    Train trainer;
    trainer.fit(data(), {.steps = 3, .progress = false});
    DeferredOutcome outcome;
    add_weights(trainer, outcome);
    return outcome.weights;
  };
  const std::vector<double> serial = run();
  const With with({.seed = 2, .fibers = true}, true);
  const std::vector<double> blocks = run();
  CHECK(serial != blocks);  // another order of sums
  CHECK(distance(serial, blocks) < 3 * 2 * 1.1e-3);
}

TEST_CASE("a checkpointed GPT has the bits of one that keeps all, on the device, too") {
  const auto weights = []<class Train>(std::type_identity<Train>) { return trained<Train>().weights; };
  CHECK(weights(std::type_identity<Trainer<Gpt<3>, Batch<4>, Device<Emulated>>>{}) ==
        weights(std::type_identity<Trainer<Gpt<3>, Batch<4>, Checkpoint<Every<1>>, Device<Emulated>>>{}));
}

TEST_CASE("the device runs the planned operations, and the state moves between devices") {
  using There = Trainer<Gpt<2>, Batch<4>, Device<Emulated>>;
  using Here = Trainer<Gpt<2>, Batch<4>>;
  const ::test::Directory folder;
  There there;
  there.fit(data(), {.steps = 4, .progress = false});
  CHECK(there.used().operations == 4 * There::plan().operations());
  CHECK(there.used().peak == There::plan().peak);
  there.save(folder / "state");
  Here here;
  here.load(folder / "state");
  DeferredOutcome a, b;
  add_weights(there, a);
  add_weights(here, b);
  CHECK(a == b);
  Inference<Gpt<2>, Batch<2>> inference_here(folder / "state");
  Inference<Gpt<2>, Batch<2>, Device<Emulated>> inference_there(folder / "state");
  std::vector<std::int32_t> tokens(2 * decltype(inference_here)::input_size);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i % 11);
  const auto expected = inference_here.predict(tokens), found = inference_there.predict(tokens);
  REQUIRE(expected.size() == found.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::fabs(double(expected[i]) - double(found[i])) < 1e-4);
}

TEST_CASE("the first layer that is not finite is named on the device, too") {
  using Train = Trainer<Gpt<3>, Batch<4>, Debug<Anomaly>, Device<Emulated>>;
  Train trainer;
  for (const auto& parameter : trainer.parameters())
    if (parameter.name == "4.weight") parameter.values[0] = std::numeric_limits<float>::quiet_NaN();
  trainer.parameters_changed();
  const std::string error = ::test::error_of([&] { trainer.fit(data(), {.steps = 3, .progress = false}); });
  INFO(error);
  CHECK(::test::says(error, "step 1, output of layer 4 (layer_norm)"));
}
// SPDX-License-Identifier: Apache-2.0
