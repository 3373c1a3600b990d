// The sums of residual branches as a part of the operation beside them train what op::Add trains, on a device.
#include "support/on_runtime.hpp"
#include "support/rounding.hpp"
#include "train/deferred.hpp"

#include <regimen/optimizer/sgd.hpp>

#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <vector>

using namespace regimen;
using namespace regimen::test;
using support::as_far_as;
using support::distance;
using support::of_order;

namespace {

/// Counts launches of op::Add. Ranks have a device each; only devices of one thread are counted.
struct CountsAdds : emulated::Runtime {
  static inline std::size_t adds = 0;

  template <class Kernel>
  static constexpr bool is_add = false;
  template <class T>
  static constexpr bool is_add<kernel::Kernel<op::Add<T>, 0>> = true;

  template <class Kernel>
  void launch(const Kernel& made, cuda::Grid grid, Stream stream) {
    adds += is_add<Kernel>;
    Runtime::launch(made, grid, stream);
  }
  using Runtime::launch;
};

/// A block of each kind. Of GPT-2: branches that end with a Linear, or with a Dropout.
struct PlainGpt final : Model<Input<Tokens<8>>, Table, PositionEmbedding,
                              Repeat<3, Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                                                   Residual<RmsNorm, Linear<64>, GeluTanh, Linear<16>>>>,
                              LayerNorm, TiedLinear<Table>> {};
/// Nine branches: they begin with a Linear, a norm, a Dropout and Gelu, and end with a Linear, a Dropout, an activation
/// (one that reads its own output, and one of a product) and a norm.
struct Various final : Model<Input<Vector<8>>, Linear<16>, Residual<Linear<24>, GeluTanh, Linear<16>>,
                             Residual<Linear<16>>, Residual<Linear<16>, Relu>, Residual<Linear<16>, GeluTanh>,
                             Residual<RmsNorm, Linear<16>, Silu>, Residual<LayerNorm>, Residual<Drop>,
                             Residual<Drop, Linear<16>, Drop>, Residual<Gelu, Linear<16>>, Linear<5>> {};
/// A sum in a sum: at the end, at the begin, alone, and around a Repeat.
struct Sums final
    : Model<Input<Tokens<8>>, Table, PositionEmbedding, Residual<LayerNorm, Residual<LayerNorm, Linear<16>>>,
            Residual<Residual<Linear<16>, Drop>, Linear<16>>, Residual<Residual<RmsNorm, Linear<16>>>,
            Residual<Repeat<2, Residual<LayerNorm, Linear<16>>>, Linear<16>>,
            Residual<LayerNorm, Repeat<2, Sequential<Linear<16>, Gelu>>>, Linear<11>> {};
/// Its first branch needs no gradient of its input.
struct Early final : Model<Input<Vector<16>>, Residual<LayerNorm, Linear<16>>, Residual<Linear<16>>, Linear<5>> {};

template <class Network, class... Policies>
using There = Trainer<Network, Batch<4>, Policies..., Device<OnRuntime<CountsAdds>>>;

/// Of twelve steps. `adds`: op::Add of each, counted where operations are launched one by one.
template <class Train>
DeferredOutcome trained_there() {
  const ::test::Directory folder;
  Train trainer;
  return regimen::test::train(trainer, folder / "state");
}
template <class Train>
std::size_t adds_of_a_step() {
  Train trainer;
  CountsAdds::adds = 0;
  const std::size_t before = trainer.used().operations;
  trainer.fit(data(), {.steps = 2, .progress = false});
  CHECK(trainer.used().operations - before == 2 * Train::plan().operations());
  CHECK(CountsAdds::adds % 2 == 0);
  return CountsAdds::adds / 2;
}

/// `apart` sums of a step without the fusion, `left` with it. In fp64 the same numbers but for the order of sums.
template <class Network, class... Policies>
void sums_as_add_does(const char* what, std::size_t apart, std::size_t left) {
  INFO(what);
  using Together = There<Network, Policies..., Precision<fp64>>;
  using Apart = There<Network, Policies..., Precision<fp64>, Epilogue<Separate>>;
  const DeferredOutcome exact = trained_there<Trainer<Network, Batch<4>, Policies..., Precision<fp64>>>(),
                        kept = trained_there<Apart>(), joined = trained_there<Together>();
  CHECK(distance(exact.numbers, joined.numbers) < of_order);
  CHECK(distance(exact.weights, joined.weights) < of_order);
  CHECK(distance(kept.weights, joined.weights) < of_order);
  CHECK(adds_of_a_step<There<Network, Policies..., Precision<fp64>, Graph<Off>, Epilogue<Separate>>>() == apart);
  CHECK(adds_of_a_step<There<Network, Policies..., Precision<fp64>, Graph<Off>>>() == left);
  CHECK(Together::plan().bytes_moved() < Apart::plan().bytes_moved());
  CHECK(Together::plan().peak <= Apart::plan().peak);
}

/// A sum that is rounded once in place of twice.
template <class Network, class... Format>
void rounds_no_more(const char* what) {
  INFO(what);
  const std::vector<double> exact = trained_there<Trainer<Network, Batch<4>, Precision<fp64>>>().numbers,
                            here = trained_there<Trainer<Network, Batch<4>, Format...>>().numbers,
                            together = trained_there<There<Network, Format...>>().numbers;
  CHECK(distance(exact, together) < as_far_as(distance(exact, here)));
}

/// Losses and weights of ranks on devices.
template <class... Policies>
std::vector<double> on_ranks() {
  std::vector<double> found;
  launch(2, [&](comm::Threads& communicator) {
    Trainer<PlainGpt, Batch<2>, Communicator<Threads>, Device<Emulated>, Policies...> trainer(communicator);
    trainer.poison_dead_memory();
    const double loss = trainer.fit(data(), {.steps = 4, .progress = false}).loss;
    std::vector<double> own = support::weights_of<double>(trainer);
    own.push_back(loss);
    if (trainer.used().peak != trainer.planned().peak) throw std::logic_error("used is not what was planned");
    if (communicator.rank() == 0) found = own;
  });
  return found;
}

}  // namespace

TEST_CASE("a GPT adds no sum by itself") {
  // Six branches, forward and backward.
  sums_as_add_does<PlainGpt>("a GPT without dropout", 12, 0);
  sums_as_add_does<Gpt<3>, Clip<Norm<Ratio<1>>>>("a GPT", 12, 0);
  sums_as_add_does<PlainGpt, Accumulate<2>>("accumulated", 24, 0);
  sums_as_add_does<Gpt<3>, Freeze<Linear<64>, LayerNorm>>("a part of it frozen", 12, 0);
  // A segment of one block is recomputed but for its last sum, which nothing reads.
  sums_as_add_does<PlainGpt, Checkpoint<Every<1>>>("recomputed", 12 + 3, 0);
}

TEST_CASE("sums that no operation takes stay operations") {
  // Left are, forward, those behind three activations and behind a norm; backward, that before Gelu.
  sums_as_add_does<Various, Optimizer<Sgd>>("branches of all kinds", 9 + 9, 4 + 1);
  // Left are those of branches that end with a Residual, twice, or with a Repeat, and, backward, that begin with one.
  sums_as_add_does<Sums, Optimizer<Sgd>>("sums in sums", 10 + 10, 3 + 3);
  sums_as_add_does<PostNorm>("norms behind the sums", 20, 0);
  sums_as_add_does<Early, Optimizer<Sgd>>("no gradient of the input", 3, 0);
}

TEST_CASE("sums in narrow formats are no farther from fp64 than those of the CPU engine") {
  rounds_no_more<PlainGpt>("fp32");
  rounds_no_more<PlainGpt, Precision<tf32>>("tf32");
  rounds_no_more<PlainGpt, Precision<bf16, fp32>>("bf16");
  rounds_no_more<Gpt<3>, Precision<bf16, fp32>>("bf16, with dropout");
  rounds_no_more<Various, Precision<bf16, fp32>>("bf16, branches of all kinds");
  rounds_no_more<Gpt<3>, Precision<fp16, fp32>, LossScale<Static<64>>>("fp16, with dropout");
}

TEST_CASE("what is recomputed has the bits of what is kept, sums too") {
  const auto same = []<class Network, class... Format>(std::type_identity<Network>, Format...) {
    const DeferredOutcome kept = trained_there<There<Network, Format...>>();
    CHECK(kept == trained_there<There<Network, Format..., Checkpoint<Every<1>>>>());
    CHECK(kept == trained_there<There<Network, Format..., Checkpoint<Every<2>>>>());
    CHECK(kept == trained_there<There<Network, Format..., Checkpoint<Selective<LayerNorm, Linear<64>>>>>());
    CHECK(kept == trained_there<There<Network, Format..., Debug<Anomaly>>>());
  };
  same(std::type_identity<PlainGpt>{}, Precision<bf16, fp32>{});
  same(std::type_identity<Gpt<3>>{}, Precision<fp32>{});
}

TEST_CASE("ranks train the same bits under every sharding, sums too") {
  const std::vector<double> expected = on_ranks<>();
  CHECK(on_ranks<Shard<ZeRO1>>() == expected);
  CHECK(on_ranks<Shard<ZeRO3>>() == expected);
  CHECK(on_ranks<Shard<ZeRO3>, Checkpoint<Every<1>>>() == expected);
}
// SPDX-License-Identifier: Apache-2.0
