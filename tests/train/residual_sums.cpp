// The sums of residual branches as a part of the operation beside them train what op::Add trains, on a device.
#include "support/on_runtime.hpp"
#include "support/rounding.hpp"
#include "train/deferred.hpp"

#include <regimen/optimizer/sgd.hpp>

#include <cstddef>
#include <vector>

using namespace regimen;
using namespace regimen::test;
using support::as_far_as;
using support::distance;
using support::of_order;

namespace {

template <class Kernel>
constexpr bool is_add = false;
template <class T>
constexpr bool is_add<kernel::Kernel<op::Add<T>, 0>> = true;

/// Counts launches of op::Add.
struct CountsAdds : emulated::Runtime {
  static inline std::size_t adds = 0;

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
/// (one that reads its own output, and one of a product) and a norm. The first has no gradient of its input.
struct Various final : Model<Input<Vector<16>>, Residual<Linear<24>, GeluTanh, Linear<16>>, Residual<Linear<16>>,
                             Residual<Linear<16>, Relu>, Residual<Linear<16>, GeluTanh>,
                             Residual<RmsNorm, Linear<16>, Silu>, Residual<LayerNorm>, Residual<Drop>,
                             Residual<Drop, Linear<16>, Drop>, Residual<Gelu, Linear<16>>, Linear<5>> {};
/// A sum in a sum: at the end, at the begin, alone, and around a Repeat.
struct Sums final
    : Model<Input<Tokens<8>>, Table, PositionEmbedding, Residual<LayerNorm, Residual<LayerNorm, Linear<16>>>,
            Residual<Residual<Linear<16>, Drop>, Linear<16>>, Residual<Residual<RmsNorm, Linear<16>>>,
            Residual<Repeat<2, Residual<LayerNorm, Linear<16>>>, Linear<16>>,
            Residual<LayerNorm, Repeat<2, Sequential<Linear<16>, Gelu>>>, Linear<11>> {};

template <class Network, class... Policies>
using There = Trainer<Network, Batch<4>, Policies..., Device<OnRuntime<CountsAdds>>>;

/// Numbers of twelve steps.
template <class Train>
DeferredOutcome trained() {
  const ::test::Directory folder;
  Train trainer;
  return regimen::test::train(trainer, folder / "state");
}
/// op::Add of a step, where operations are launched one by one.
template <class Train>
std::size_t adds_of() {
  Train trainer;
  CountsAdds::adds = 0;
  const std::size_t before = trainer.used().operations;
  trainer.fit(fake_data(), {.steps = 2, .progress = false});
  CHECK(trainer.used().operations - before == 2 * Train::plan().operations());
  CHECK(CountsAdds::adds % 2 == 0);
  return CountsAdds::adds / 2;
}

/// `apart` sums of a step without the fusion, `left` with it. In fp64 the same numbers but for the order of sums.
template <class Network, class... Policies>
void sums_as_add_does(const char* what, std::size_t apart, std::size_t left) {
  INFO(what);
  using Together = There<Network, Policies..., Precision<fp64>, Graph<Off>>;
  using Apart = There<Network, Policies..., Precision<fp64>, Graph<Off>, Epilogue<Separate>>;
  const DeferredOutcome exact = trained<Trainer<Network, Batch<4>, Policies..., Precision<fp64>>>(),
                        kept = trained<Apart>(), joined = trained<Together>();
  CHECK(distance(exact.numbers, joined.numbers) < of_order);
  CHECK(distance(exact.weights, joined.weights) < of_order);
  CHECK(distance(kept.weights, joined.weights) < of_order);
  CHECK(adds_of<Apart>() == apart);
  CHECK(adds_of<Together>() == left);
  CHECK(Together::plan().bytes_moved() < Apart::plan().bytes_moved());
  CHECK(Together::plan().peak <= Apart::plan().peak);
}

/// A sum is rounded once in place of twice; recomputation and the search for a NaN change no bit of it.
template <class Network, class Recomputation>
void rounds_no_more(const char* what) {
  INFO(what);
  using Format = Precision<bf16, fp32>;
  const std::vector<double> exact = trained<Trainer<Network, Batch<4>, Precision<fp64>>>().numbers,
                            here = trained<Trainer<Network, Batch<4>, Format>>().numbers;
  const DeferredOutcome kept = trained<There<Network, Format>>();
  CHECK(distance(exact, kept.numbers) < as_far_as(distance(exact, here)));
  CHECK(kept == trained<There<Network, Format, Debug<Anomaly>, Recomputation>>());
}

}  // namespace

TEST_CASE("a GPT adds no sum by itself") {
  // Six branches, forward and backward; a segment of one block is recomputed but for its last sum, which nothing reads.
  sums_as_add_does<PlainGpt, Checkpoint<Every<1>>>("a GPT without dropout, recomputed", 6 + 6 + 3, 0);
  sums_as_add_does<Gpt<3>, Accumulate<2>, Freeze<Linear<64>>, Clip<Norm<Ratio<1>>>>("a GPT in two parts", 24, 0);
}

TEST_CASE("sums that no operation takes stay operations") {
  // Left are, forward, those behind three activations and behind a norm; backward, that before Gelu.
  sums_as_add_does<Various, Optimizer<Sgd>>("branches of all kinds", 9 + 8, 4 + 1);
  // Left are those of branches that end with a Residual, twice, or with a Repeat, and, backward, that begin with one.
  sums_as_add_does<Sums, Optimizer<Sgd>>("sums in sums", 10 + 10, 3 + 3);
}

TEST_CASE("sums in 16 bits are no farther from fp64 than those of the CPU engine") {
  rounds_no_more<PlainGpt, Checkpoint<Every<1>>>("a GPT");
  rounds_no_more<Various, Checkpoint<Selective<Linear<16>>>>("branches of all kinds");
}
// SPDX-License-Identifier: Apache-2.0
