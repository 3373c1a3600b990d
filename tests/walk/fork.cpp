// Branches that read one input: sums, products, concatenations, and a join of a program's own. They train in every
// position, with the same bits whatever is computed again, in the memory that was planned.
#include "support/catch.hpp"
#include "support/weights.hpp"

#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace regimen;

namespace {

/// y = a - b, of a program's own.
struct Subtract final {
  static constexpr const char* name = "subtract";
  template <class A, class B>
  struct of {
    using Output = A;
    using T = typename A::Element;
    static constexpr bool reads_values = false;
    static constexpr void forward(auto& walk, const auto& values, std::size_t y) {
      walk.run(op::Copy<T>{{values[0]}, {y}, walk.batch * A::size});
      scaled(walk, values[1], y, 1);
    }
    static constexpr void backward(auto& walk, std::size_t d_y, const auto&, const auto& d_values) {
      constexpr std::size_t absent = View<T>::absent;
      if (d_values[0] != absent) walk.run(op::Copy<T>{{d_y}, {d_values[0]}, walk.batch * A::size});
      if (d_values[1] != absent) scaled(walk, d_y, d_values[1], 0);
    }

   private:
    static constexpr void scaled(auto& walk, std::size_t x, std::size_t y, double onto) {
      walk.run(op::ScaledSum<T, T>{.x = {x}, .y = {y}, .count = walk.batch * A::size, .a = {-1.0}, .b = {onto}});
    }
  };
};

// Forks in every position and company.
using Gate = Fork<Multiply, Sequential<Linear<16>, Silu>, Linear<16>>;
using Skip = Fork<Concat, Identity, Sequential<Linear<8>, Gelu>>;
using Down =
    Fork<Add, Linear<8>, Sequential<Linear<24>, Relu, Linear<8>, Relu>, Sequential<Linear<8>, Dropout<Ratio<1, 4>>>>;

struct All final
    : Model<Input<Vector<16>>, Gate, Repeat<2, Residual<LayerNorm, Gate>>,
            Repeat<3, Sequential<Fork<Add, Identity, Gate, Sequential<Linear<16>, Relu>>, Skip, Linear<16>>>,
            Fork<Multiply, Identity, Sequential<Linear<16>, Fork<Subtract, Relu, Sequential<Linear<16>, Gelu>>>>,
            As<fp32, Down>, Fork<Concat, Linear<2>, Linear<3>>> {};
/// On tokens; and one as the only layer.
struct OfTokens final
    : Model<Input<Tokens<6>>,
            Fork<Add, Embedding<Vocabulary<11>, 8>, Sequential<Embedding<Vocabulary<11>, 4>, Linear<8>>>,
            Fork<ConcatAlong<0>, Identity, Identity>, LayerNorm, Flatten, Linear<5>> {};
struct Alone final : Model<Input<Vector<8>>, Fork<Concat, Linear<2>, Sequential<Linear<6>, Relu>>> {};
struct AloneSum final : Model<Input<Vector<8>>, Fork<Add, Linear<5>, Linear<5>>> {};

/// Weights after some steps, and the losses of the first and the last.
template <class Network, class... Policies>
std::vector<double> trained() {
  using Train = Trainer<Network, Batch<4>, Policies...>;
  Train trainer;
  trainer.poison_dead_memory();
  std::vector<typename Train::Input> x(4 * Train::input_size * Train::micro_batches);
  std::vector<std::int32_t> y(4 * Train::target_size * Train::micro_batches);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<typename Train::Input>(i * 7 % 11);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int32_t>(i % 5);
  const double first = trainer.step(x, y).loss;
  double last = 0;
  for (int step = 0; step < 6; ++step) last = trainer.step(x, y).loss;
  CHECK(Train::plan().peak == trainer.used().peak);
  std::vector<double> all = support::weights_of<double>(trainer);
  all.insert(all.end(), {first, last});
  return all;
}
bool learns(const std::vector<double>& numbers) { return numbers.back() < numbers[numbers.size() - 2]; }
template <class Network, class... Policies>
void same_whatever_is_recomputed() {
  const std::vector<double> plain = trained<Network, Policies...>();
  CHECK(trained<Network, Policies..., Checkpoint<Every<1>>>() == plain);
  CHECK(trained<Network, Policies..., Checkpoint<Every<2>>>() == plain);
  CHECK(trained<Network, Policies..., Checkpoint<Selective<Gelu, Silu, LayerNorm>>>() == plain);
}

template <class Layer, class Shape_ = Shape<3, 16>>
double worst() {
  return gradient_check_layer<Sequential<Layer, Flatten>, Shape_>().worst;
}

template <class... Policies>
std::vector<double> on_ranks() {
  std::vector<double> first;
  launch(2, [&](comm::Threads& ranks) {
    Trainer<All, Batch<4>, Communicator<Threads>, Policies...> trainer(ranks);
    trainer.fit(Fake({.samples = 64, .classes = 5, .seed = 3}), {.steps = 5, .progress = false});
    const std::vector<double> weights = support::weights_of<double>(trainer);
    if (ranks.rank() == 0) first = weights;
  });
  return first;
}

}  // namespace

TEST_CASE("joins have the gradients of calculus") {
  CHECK(worst<Gate>() < 1e-6);
  CHECK(worst<Skip>() < 1e-6);
  CHECK(worst<Down>() < 1e-6);
  CHECK(worst<Fork<Multiply, Linear<4>, Linear<4>, Linear<4>>>() < 1e-6);
  CHECK(worst<Fork<Multiply, Linear<4>, Sequential<Linear<4>, Gelu>>>() < 1e-6);
  CHECK(worst<Fork<Multiply, Identity, Sequential<Linear<16>, Sigmoid>>>() < 1e-6);
  CHECK(worst<Fork<Multiply, Identity, LayerNorm>>() < 1e-6);
  CHECK(worst<Fork<Multiply, Identity, Identity, Identity, Linear<16>>>() < 1e-6);
  CHECK(worst<Fork<Add, Identity, Identity, Linear<16>>>() < 1e-6);
  CHECK(worst<Fork<ConcatAlong<0>, Identity, Linear<16>, Linear<16>>>() < 1e-6);
  CHECK(worst<Fork<ConcatAlong<1>, Linear<4>, Identity, Linear<4>>, Shape<2, 3, 4>>() < 1e-6);
  CHECK(worst<Fork<Concat, Linear<2>, Fork<Add, Linear<3>, Sequential<Linear<3>, Relu>>>>() < 1e-6);
  CHECK(worst<Fork<Subtract, Linear<5>, Sequential<Gelu, Linear<5>>>>() < 1e-6);
  CHECK(worst<Residual<Fork<Subtract, Gelu, Identity>>>() < 1e-6);
}

TEST_CASE("forks train the same bits whatever is computed again") {
  same_whatever_is_recomputed<All>();
  CHECK(trained<All, Precision<bf16, fp32>, Checkpoint<Every<1>>>() == trained<All, Precision<bf16, fp32>>());
  CHECK(trained<OfTokens, Checkpoint<Selective<LayerNorm>>>() == trained<OfTokens>());
  CHECK(learns(trained<Alone>()));
  CHECK(learns(trained<AloneSum>()));
  CHECK(learns(trained<All, Freeze<LayerNorm>, Accumulate<2>>()));
  CHECK(learns(trained<All, Freeze<Linear<16>>>()));
}

/// Branches of a sum that read their own outputs in backward, in each place. What is computed again does not.
struct ReadsOutputs final
    : Model<Input<Vector<16>>, Linear<16>, Repeat<3, Fork<Add, Identity, Sequential<Linear<16>, Relu>, Linear<16>>>,
            Repeat<2, Fork<Add, Sequential<Linear<16>, Relu>, Linear<16>, Sequential<Linear<16>, Tanh>, Identity>>,
            Fork<Add, Linear<16>, Sequential<Linear<16>, Relu>, Sequential<Linear<16>, Relu>>, Linear<5>> {};

TEST_CASE("the order of a sum does not depend on what is saved") {
  const std::vector<double> plain = trained<ReadsOutputs>();
  CHECK(trained<ReadsOutputs, Checkpoint<Every<1>>>() == plain);
  CHECK(trained<ReadsOutputs, Checkpoint<Selective<Relu>>>() == plain);
  CHECK(trained<ReadsOutputs, Precision<bf16, fp32>, Checkpoint<Every<1>>>() ==
        trained<ReadsOutputs, Precision<bf16, fp32>>());
}

TEST_CASE("a Residual is a Fork that adds its input: the same bits in the same memory") {
  struct Short final
      : Model<Input<Vector<16>>, Linear<16>, Repeat<3, Residual<LayerNorm, Linear<24>, Gelu, Linear<16>>>,
              Residual<Linear<16>, Relu>, Linear<5>> {};
  struct Long final : Model<Input<Vector<16>>, Linear<16>,
                            Repeat<3, Fork<Add, Identity, Sequential<LayerNorm, Linear<24>, Gelu, Linear<16>>>>,
                            Fork<Add, Identity, Sequential<Linear<16>, Relu>>, Linear<5>> {};
  CHECK(trained<Short>() == trained<Long>());
  CHECK(Trainer<Short, Batch<4>>::plan().peak == Trainer<Long, Batch<4>>::plan().peak);
  CHECK(trained<Short, Checkpoint<Every<1>>>() == trained<Long, Checkpoint<Every<1>>>());
}

/// A gate whose other branch draws random numbers.
struct Gated final
    : Model<Input<Vector<16>>,
            Fork<Multiply, Sequential<Linear<32>, Silu>, Sequential<Linear<32>, Dropout<Ratio<1, 4>>>>,
            Residual<Fork<Multiply, Sequential<Linear<32>, Dropout<Ratio<1, 4>>>, Sequential<Linear<32>, Gelu>>>,
            Linear<5>> {};

TEST_CASE("a gate is one operation: the bits of two, in less memory") {
  // The same operations in the same order: without 16-bit tensors between them, the same bits.
  CHECK(trained<Gated>() == trained<Gated, Fusion<Unfused>>());
  using Fused = Trainer<Gated, Batch<64>>;
  using Apart = Trainer<Gated, Batch<64>, Fusion<Unfused>>;
  constexpr std::size_t activated =
      64 * 32 * sizeof(float);  // of each of two gates: act(a), which the other form saves
  CHECK(Fused::plan().peak + 2 * activated == Apart::plan().peak);
}

TEST_CASE("parameters of branches have the branch's index in their names") {
  Trainer<Alone, Batch<4>> trainer;
  std::vector<std::string> names;
  for (const auto& parameter : trainer.parameters()) names.push_back(parameter.name);
  CHECK(names == std::vector<std::string>{"0.0.0.weight", "0.0.0.bias", "0.1.0.weight", "0.1.0.bias"});
}

TEST_CASE("ranks that keep slices train the bits of those that keep all") {
  const auto replicated = on_ranks<>();
  CHECK(on_ranks<Shard<ZeRO2>>() == replicated);
  CHECK(on_ranks<Shard<ZeRO3>, Checkpoint<Every<1>>>() == replicated);
}

// What cannot be joined is found.
static_assert(Composable<All, Batch<4>> && Composable<OfTokens> && Composable<Alone>);
static_assert(!Composable<Model<Input<Vector<8>>, Fork<Add, Linear<4>, Linear<5>>>>);
static_assert(!Composable<Model<Input<Vector<8>>, Fork<Multiply, Identity, Linear<5>>>>);
static_assert(!Composable<Model<Input<Image<2, 3, 4>>, Fork<ConcatAlong<3>, Identity, Linear<4>>>>);
static_assert(!Composable<Model<Input<Image<2, 3, 4>>, Fork<ConcatAlong<1>, Identity, Linear<5>>>>);
static_assert(!Composable<Model<Input<Vector<8>>, Fork<Add, Linear<4>>>>);
static_assert(Composable<Model<Input<Vector<8>>, Linear<4>, Fork<Add, Identity, Identity>>>);
static_assert(!Composable<Model<Input<Vector<8>>, Fork<Linear<4>, Linear<4>>>>);
static_assert(!Composable<Model<Input<Tokens<8>>, Fork<Add, Identity, Embedding<Vocabulary<4>, 8>>>>);
static_assert(!Composable<Model<Input<Vector<8>>, Fork<Add, Linear<4>, int>>>);
