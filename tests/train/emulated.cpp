// The CUDA engine on a device that is emulated on the host trains what the CPU engine trains, late and by graphs.
#include "support/rounding.hpp"
#include "train/deferred.hpp"

#include <regimen/engine/emulated/device.hpp>
#include <regimen/optimizer/rmsprop.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/inference.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace regimen;
using namespace regimen::test;
using support::as_far_as;
using support::distance;
using support::of_order;

namespace {

/// Devices are made with these until the end of the scope.
struct With {
  explicit With(const emulated::Options& options) { emulated::Runtime::defaults = options; }
  With(const With&) = delete;
  ~With() { emulated::Runtime::defaults = {}; }
};

/// Without callbacks, unless it `listens`: then the host is ahead of the device.
template <class Train>
DeferredOutcome trained(bool listens = true, const Lengths& lengths = {}) {
  const ::test::Directory folder;
  Train trainer;
  return regimen::test::train(trainer, folder / "state", listens, lengths);
}

/// In fp64 but for the order of sums; in fp32 and tf32 as far from fp64 as the CPU engine is: see support/rounding.hpp.
template <class Network, class Form, class... Policies>
void trains_like_the_cpu(const char* what) {
  INFO(what);
  const DeferredOutcome exact = trained<Trainer<Network, Policies..., Precision<fp64>>>();
  const DeferredOutcome here = trained<Trainer<Network, Policies..., Precision<fp64>, Form, Device<Emulated>>>();
  CHECK(distance(exact.numbers, here.numbers) < of_order);
  CHECK(distance(exact.weights, here.weights) < of_order);
  const auto is_as_near = [&]<class Format>(std::type_identity<Format>) {
    const DeferredOutcome rounded = trained<Trainer<Network, Policies..., Format>>();
    const DeferredOutcome rounded_here = trained<Trainer<Network, Policies..., Format, Form, Device<Emulated>>>();
    CHECK(distance(exact.numbers, rounded_here.numbers) < as_far_as(distance(exact.numbers, rounded.numbers)));
    CHECK(rounded_here.numbers != exact.numbers);
    return rounded_here.numbers;
  };
  CHECK(is_as_near(std::type_identity<Precision<fp32>>{}) != is_as_near(std::type_identity<Precision<tf32>>{}));
}

/// Blocks of real threads, whose barriers are checked, train the same bits in any order of threads, and in fp64 what
/// serial blocks train, but for the order of sums.
template <class Network, class... Policies>
void trains_by_blocks(const char* what) {
  INFO(what);
  using Train = Trainer<Network, Policies..., Precision<fp64>, Device<Emulated>>;
  const Lengths few = {.saved = 1, .more = 2, .all = 3};  // each barrier is met in each step
  const DeferredOutcome serial = trained<Train>(true, few);
  DeferredOutcome first;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {     // of a device that is lazy, mixed, unfair
    const With with({.seed = seed, .fibers = true});  // threads in reverse, random and forward order
    const DeferredOutcome blocks = trained<Train>(true, few);
    if (first.numbers.empty()) first = blocks;
    CHECK(blocks == first);
  }
  CHECK(first != serial);  // or blocks have not run
  CHECK(distance(serial.numbers, first.numbers) < of_order);
  CHECK(distance(serial.weights, first.weights) < of_order);
}

template <class Form>
void trains_in_form(const char* what) {
  using Policies = Trainer<Gpt<3>, Batch<4>, Attention<Form>, Device<Emulated>>;
  trains_like_the_cpu<Gpt<3>, Attention<Form>, Batch<4>>(what);
  Policies trainer;
  trainer.fit(fake_data(), {.steps = 4, .progress = false});
  CHECK(trainer.used().operations == 4 * Policies::plan().operations());
  CHECK(trainer.used().peak == Policies::plan().peak);
}

/// Whatever the device does first, by graphs or by single launches: the same bits, also of what is trained again from a
/// saved state.
template <class Network, class... Policies>
void trains_the_same_in_any_order(const char* what) {
  INFO(what);
  DeferredOutcome first, first_unheard;
  const auto expect_the_same = [&]<class Train>(std::type_identity<Train>) {
    const DeferredOutcome outcome = trained<Train>(), unheard = trained<Train>(false);
    if (first.numbers.empty()) first = outcome, first_unheard = unheard;
    CHECK(outcome == first);
    CHECK(unheard == first_unheard);
    CHECK(unheard.weights == first.weights);
  };
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const With with({.seed = seed});
    expect_the_same(std::type_identity<Trainer<Network, Policies..., Device<Emulated>>>{});
    expect_the_same(std::type_identity<Trainer<Network, Policies..., Device<Emulated>, Graph<Off>>>{});
    expect_the_same(std::type_identity<Trainer<Network, Policies..., Device<Emulated>, Steps<3>>>{});
  }
}

}  // namespace

TEST_CASE("a GPT trains on the emulated device as it does on the CPU") {
  trains_like_the_cpu<Gpt<3>, Attention<>, Batch<4>, Accumulate<2>, Checkpoint<Every<2>>, Clip<Norm<Ratio<1>>>>(
      "with dropout, accumulated and computed again");
  trains_like_the_cpu<Mlp, Attention<>, Batch<4>, Optimizer<Sgd>>("an MLP");
}

/// Composed, but for one head at a time.
struct HeadByHead final {
  using option_of = axis::attention;
  static constexpr std::size_t score_bytes = 1;
};

TEST_CASE("a GPT trains in each form of attention as it does on the CPU") {
  trains_in_form<Tiled>("Tiled");
  trains_in_form<Composed>("Composed");
  trains_in_form<HeadByHead>("Composed, head by head");
}

using PlainBlock =
    Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>, Residual<LayerNorm, Linear<64>, Gelu, Linear<16>>>;
struct PlainGpt final
    : Model<Input<Tokens<8>>, Table, PositionEmbedding, Repeat<3, PlainBlock>, LayerNorm, Linear<11>> {};

TEST_CASE("a GPT trains in cuDNN's form, in 16 bits, as far from fp64 as the CPU engine") {
  const auto is_as_near = []<class... Format>(const char* what, std::type_identity<Format>...) {
    INFO(what);
    using Fused = Trainer<PlainGpt, Batch<4>, Format..., Attention<Cudnn>, Device<Emulated>>;
    const DeferredOutcome exact = trained<Trainer<PlainGpt, Batch<4>, Precision<fp64>>>(),
                          here = trained<Trainer<PlainGpt, Batch<4>, Format...>>(), there = trained<Fused>();
    CHECK(distance(exact.weights, there.weights) < as_far_as(distance(exact.weights, here.weights)));
    CHECK(there.weights == trained<Trainer<PlainGpt, Batch<4>, Format..., Device<Emulated>>>().weights);  // the default
    CHECK(there.weights !=
          trained<Trainer<PlainGpt, Batch<4>, Format..., Attention<Composed>, Device<Emulated>>>().weights);
    Fused trainer;
    const std::size_t before = trainer.used().operations;  // copies of the weights in 16 bits
    trainer.fit(fake_data(), {.steps = 4, .progress = false});
    CHECK(trainer.used().operations - before == 4 * Fused::plan().operations());
    CHECK(trainer.used().peak == Fused::plan().peak);
  };
  is_as_near("bf16", std::type_identity<Precision<bf16, fp32>>{});
  is_as_near("fp16", std::type_identity<Precision<fp16, fp32>>{}, std::type_identity<LossScale<Static<64>>>{});
}

struct LongAttention final
    : Model<Input<Tokens<64>>, Embedding<Vocabulary<11>, 4>, SelfAttention<Heads<2>, Causal>, Linear<11>> {};

TEST_CASE("the plan has the bytes of scores, and Inference predicts the same in each form") {
  using InTiles = Trainer<LongAttention, Batch<4>, Attention<Tiled>, Device<Emulated>>;
  using WithScores = Trainer<LongAttention, Batch<4>, Attention<Composed>, Device<Emulated>>;
  using OneHead = Trainer<LongAttention, Batch<4>, Attention<HeadByHead>, Device<Emulated>>;
  static_assert(InTiles::plan().peak < OneHead::plan().peak && OneHead::plan().peak < WithScores::plan().peak);
  // Two matrices (64,64) in fp32 for each head: of one sample, or of four.
  static_assert(WithScores::plan().peak - OneHead::plan().peak == 3 * 2 * 64 * 64 * sizeof(float));
  static_assert(std::is_same_v<Trainer<LongAttention, Device<Emulated>>::Recipe::Device::Traits::attention, Composed>);
  const ::test::Directory folder;
  InTiles trainer;
  trainer.fit(fake_data(), {.steps = 4, .progress = false});
  trainer.save(folder / "state");
  const auto predicted = [&]<class Form>(std::type_identity<Form>) {
    Inference<LongAttention, Batch<1>, Precision<fp64>, Attention<Form>, Device<Emulated>> model(folder / "state");
    return model.predict(std::vector<std::int32_t>(64, 3));
  };
  const auto tiled = predicted(std::type_identity<Tiled>{}), composed = predicted(std::type_identity<Composed>{});
  REQUIRE(tiled.size() == composed.size());
  for (std::size_t i = 0; i < tiled.size(); ++i) CHECK(std::fabs(tiled[i] - composed[i]) < of_order);
}

TEST_CASE("graphs, single launches and three steps a launch, in any order that streams allow, train the same bits") {
  trains_the_same_in_any_order<Gpt<3>, Batch<4>, Accumulate<2>>("a GPT");
  trains_the_same_in_any_order<Tied<2>, Batch<3>, Precision<bf16, fp32>, Checkpoint<Selective<LayerNorm>>>(
      "a tied table, bf16");
  trains_the_same_in_any_order<Mlp, Batch<4>, Precision<fp16, fp32>, LossScale<Dynamic>>(
      "fp16, and a loss scale that moves");
}

TEST_CASE("blocks of threads whose barriers are checked train what serial blocks train, in any order of threads") {
  trains_by_blocks<Gpt<2>, Batch<2>, Clip<Norm<Ratio<1>>>>("a GPT with dropout");
  trains_by_blocks<Tied<1>, Batch<3>, Checkpoint<Selective<LayerNorm>>, Loss<SmoothedCrossEntropy<Ratio<1, 10>>>>(
      "a tied table");
  trains_by_blocks<PostNorm, Batch<2>, Checkpoint<Every<2>>, Optimizer<RmsProp>>("norms behind attention");
  trains_by_blocks<Surrounded, Batch<5>, Accumulate<2>, Fusion<Unfused>>("a repeat inside a residual");
  trains_by_blocks<Mlp, Batch<4>, Optimizer<Sgd>, Debug<Anomaly>>("an MLP");
}

// A sum in fp32 to which fp32 is added: it is the same whether the sum was stored between. In bf16 it is rounded once
// in place of twice, so it is no farther from fp64.
TEST_CASE("products that add the bias train the bits of kernels that add it; in bf16 they round less") {
  using Fused_ = Trainer<Gpt<3>, Batch<4>, Device<Emulated>>;
  using Apart = Trainer<Gpt<3>, Batch<4>, Device<Emulated>, Epilogue<Separate>>;
  // where branches end with a norm, no operation adds a sum that is not there without: see residual_sums.cpp
  CHECK(trained<Trainer<NormsLast, Batch<4>, Device<Emulated>>>() ==
        trained<Trainer<NormsLast, Batch<4>, Device<Emulated>, Epilogue<Separate>>>());
  CHECK(trained<Fused_>() == trained<Trainer<Gpt<3>, Batch<4>, Device<Emulated>, Epilogue<Fused>>>());
  // three biases of a block are added by products, that of Gelu by Gelu: and the last layer's; and two sums of a block
  CHECK(Apart::plan().forward.operations - Fused_::plan().forward.operations == 3 * (3 + 2) + 1);
  CHECK(Fused_::plan().bytes_moved() < Apart::plan().bytes_moved());
  CHECK(trained<Trainer<Mlp, Batch<4>, Precision<tf32>, Device<Emulated>>>() ==
        trained<Trainer<Mlp, Batch<4>, Precision<tf32>, Device<Emulated>, Epilogue<Separate>>>());
  const auto exact = trained<Trainer<Gpt<3>, Batch<4>, Precision<fp64>>>().numbers;
  const auto once = trained<Trainer<Gpt<3>, Batch<4>, Precision<bf16, fp32>, Device<Emulated>>>().numbers;
  const auto twice =
      trained<Trainer<Gpt<3>, Batch<4>, Precision<bf16, fp32>, Device<Emulated>, Epilogue<Separate>>>().numbers;
  CHECK(once != twice);
  CHECK(distance(exact, once) < as_far_as(distance(exact, twice)));
  // The output's gradient has rows of 11 numbers: backward reads a copy in bf16, in rows of 16.
  const auto here = trained<Trainer<Gpt<3>, Batch<4>, Precision<bf16, fp32>>>().numbers;
  CHECK(distance(exact, once) < as_far_as(distance(exact, here)));
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
  there.fit(fake_data(), {.steps = 4, .progress = false});
  CHECK(there.used().operations == 4 * There::plan().operations());
  CHECK(there.used().peak == There::plan().peak);
  there.save(folder / "state");
  Here here;
  here.load(folder / "state");
  CHECK(support::weights_of(there) == support::weights_of(here));
  const auto predicted = [&]<class... Policies>(std::type_identity<Inference<Gpt<2>, Batch<2>, Policies...>>) {
    Inference<Gpt<2>, Batch<2>, Policies...> inference(folder / "state");
    std::vector<std::int32_t> tokens(2 * decltype(inference)::input_size);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i % 11);
    const auto outputs = inference.predict(tokens);
    return std::vector<double>(outputs.begin(), outputs.end());
  };
  const std::vector<double> exact = predicted(std::type_identity<Inference<Gpt<2>, Batch<2>, Precision<fp64>>>{}),
                            rounded = predicted(std::type_identity<Inference<Gpt<2>, Batch<2>>>{}),
                            found = predicted(std::type_identity<Inference<Gpt<2>, Batch<2>, Device<Emulated>>>{});
  CHECK(distance(exact, found) < as_far_as(distance(exact, rounded)));
}

TEST_CASE("the first layer that is not finite is named on the device, too") {
  names_the_first_layer_that_is_not_finite<Emulated>();
}
// SPDX-License-Identifier: Apache-2.0
