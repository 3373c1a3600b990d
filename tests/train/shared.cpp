// Layers with one set of weights in several places: gradients are those of calculus, a set is the sum of its places, it
// trains the same bits whatever is computed again and on every Shard, in the memory that was planned.
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/optimizer/adam.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"
#include "train/plan_agrees.hpp"
#include "train/shard.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace regimen;

namespace {

// The names of sets.
struct Tower;
struct Deep;
struct Inner;
struct Words;

using Block = Residual<LayerNorm, Linear<12>, Gelu, Linear<8>>;
using Encode = Shared<Tower, Linear<8>, Gelu, LayerNorm>;
using Half = Fork<Concat, Sequential<Slice<0, 6>, Encode>, Sequential<Slice<2, 6>, Encode>>;
using Nested = Shared<Inner, Linear<8>, Repeat<2, Residual<Linear<8>>>, Shared<Deep, Block>, Dropout<Ratio<1, 4>>>;
/// Towers, a block that is repeated, and sets that hold it and stand elsewhere again.
struct All final : Model<Input<Vector<8>>, Half, Linear<8>, Repeat<4, Shared<Deep, Block>>, Nested,
                         Repeat<2, Sequential<Linear<8>, Silu, Nested>>, Fork<Add, Identity, Nested>, Linear<11>> {};
/// Words by the same table on both sides, a set with them, one of other lengths; a TiedLinear reads the table, too.
using Table = Embedding<Vocabulary<11>, 8>;
using Read_ = Shared<Words, Table, Residual<Linear<8>, Gelu>>;
struct Texts final
    : Model<Input<Tokens<5>>,
            Fork<ConcatAlong<0>, Sequential<SliceAlong<0, 0, 2>, Read_>, Sequential<SliceAlong<0, 1, 3>, Read_>>,
            Shared<Deep, Block>, Shared<Deep, Block>, TiedLinear<Table>> {};
/// Alone, and as the last layer.
struct AtTheEnd final : Model<Input<Vector<11>>, Shared<Tower, Linear<11>>, Relu, Shared<Tower, Linear<11>>> {};
/// All places in a Checkpointed, and the same without.
struct Again final
    : Model<Input<Vector<8>>, Linear<8>, Checkpointed<Repeat<3, Shared<Deep, Block>>, LayerNorm>, Linear<11>> {};
struct Once final : Model<Input<Vector<8>>, Linear<8>, Repeat<3, Shared<Deep, Block>>, LayerNorm, Linear<11>> {};
/// The same iterations with one set of weights, and with one for each.
struct Albert final : Model<Input<Vector<8>>, Linear<8>, Repeat<3, Shared<Deep, Block>>, Linear<5>> {};
struct Plain final : Model<Input<Vector<8>>, Linear<8>, Repeat<3, Block>, Linear<5>> {};

/// In the branches of a gate, whose activation the join applies: in those of a Fork in a Repeat there.
struct Same;
template <class Of>
using Squared = Fork<Multiply, Shared<Same, Of>, Shared<Same, Of>>;
template <class Of>
struct Gated final : Model<Input<Tokens<5>>, Embedding<Vocabulary<11>, 8>,
                           Fork<Multiply, Sequential<Repeat<3, Squared<Of>>, Relu>, LayerNorm>, Linear<11>> {};

/// Weights after some steps, and the losses of the first and the last.
template <class Network, class... Policies>
std::vector<double> trained() {
  using Train = Trainer<Network, Batch<4>, Policies...>;
  Train trainer;
  trainer.poison_dead_memory();
  trainer.fit(Fake({.samples = 30, .classes = 11, .seed = 3}), {.steps = 6, .progress = false});
  CHECK(Train::plan().peak == trainer.used().peak);
  return support::weights_of<double>(trainer);
}
template <class... Policies>
regimen::test::Outcome on_ranks() {
  return regimen::test::train_on<Trainer<All, Batch<3>, Communicator<Threads>, Policies...>>(4, true, 5);
}

std::vector<std::string> names_of(auto& trainer) {
  std::vector<std::string> names;
  for (const auto& parameter : trainer.parameters()) names.push_back(parameter.name);
  return names;
}
const auto& parameter(const auto& all, const std::string& name) {
  for (const auto& one : all)
    if (one.name == name) return one;
  FAIL("no parameter " << name);
  return all.front();
}

}  // namespace

TEST_CASE("sets have the gradients of calculus") {
  CHECK(gradient_check<All, Batch<2>, Accumulate<2>, Checkpoint<Every<2>>, Precision<fp64>>({6, 1e-4, 1}).worst < 1e-6);
  CHECK(gradient_check<Texts, Batch<2>, Precision<fp64>>().worst < 1e-6);
  CHECK(gradient_check<Gated<SelfAttention<Heads<1>>>, Batch<2>, Precision<fp64>>().worst < 1e-6);
  CHECK(gradient_check<Gated<Linear<8>>, Batch<2>, Precision<fp64>, Checkpoint<Every<1>>>().worst < 1e-6);
}

TEST_CASE("a set trains the same bits whatever is computed again") {
  const std::vector<double> plain = trained<All>();
  CHECK(trained<All, Checkpoint<Every<1>>>() == plain);
  CHECK(trained<All, Checkpoint<Every<3>, Selective<Gelu, LayerNorm>>>() == plain);
  CHECK(trained<Again>() == trained<Once>());
  CHECK(trained<Texts, Precision<bf16, fp32>, Checkpoint<Selective<Gelu, LayerNorm>>, Accumulate<2>>() ==
        trained<Texts, Precision<bf16, fp32>, Accumulate<2>>());
}

TEST_CASE("a plan that skips iterations counts what all of them cost") {
  regimen::test::agrees<All>("none");
  regimen::test::agrees<All, Checkpoint<Every<3>>, Precision<bf16, fp32>, Accumulate<3>>("every 3");
  regimen::test::agrees<Texts, Freeze<Table>>("tokens");
  regimen::test::agrees<AtTheEnd>("last");
}

TEST_CASE("a set trains the same bits under every Shard") {
  const regimen::test::Outcome replicated = on_ranks<>();
  CHECK(on_ranks<Shard<ZeRO1>, Checkpoint<Every<2>>>() == replicated);
  CHECK(on_ranks<Shard<ZeRO3>, Checkpoint<Every<1>>>() == replicated);
  CHECK(on_ranks<Shard<Hybrid<2>>>() == replicated);
}

TEST_CASE("the gradient of a set is the sum over its places: Adam by hand, of a model that has weights for each") {
  const double rate = 1e-2;
  Trainer<Albert, Batch<6>, Precision<fp64>, Optimizer<Adam>> shared({.optimizer = {.learning_rate = rate}});
  Trainer<Plain, Batch<6>, Precision<fp64>, Optimizer<Sgd>> plain({.optimizer = {.learning_rate = 1}});
  CHECK(names_of(shared) == std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias", "1.0.0.0.0.weight",
                                                     "1.0.0.0.0.bias", "1.0.0.0.1.weight", "1.0.0.0.1.bias",
                                                     "1.0.0.0.3.weight", "1.0.0.0.3.bias"});
  std::vector<double> x(6 * 8);
  std::vector<std::int32_t> y(6);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = double(i * 7 % 11) / 4 - 1;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int32_t>(i % 5);
  // What Albert calls 1.0.0.<rest> is 1.<i>.<rest> in iteration i of Plain.
  const auto places = [&](const std::string& name) {
    if (name[0] != '1') return std::vector<std::string>{name};
    std::vector<std::string> all;
    for (const char* iteration : {"1.0.", "1.1.", "1.2."}) all.push_back(iteration + name.substr(6));
    return all;
  };
  std::vector<std::vector<double>> first(10), second(10);
  for (int step = 1; step <= 4; ++step) {
    const auto weights = shared.parameters();
    for (const auto& weight : weights)
      for (const std::string& name : places(weight.name))
        for (std::size_t i = 0; i < weight.values.size(); ++i)
          parameter(plain.parameters(), name).values[i] = weight.values[i];
    plain.parameters_changed();
    std::vector<std::vector<double>> expected;
    for (const auto& weight : weights) expected.emplace_back(weight.values.begin(), weight.values.end());
    plain.step(x, y);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      std::vector<double> gradient(expected[t].size());
      for (const std::string& name : places(weights[t].name))
        for (std::size_t i = 0; i < gradient.size(); ++i)
          gradient[i] += expected[t][i] - parameter(plain.parameters(), name).values[i];
      first[t].resize(gradient.size());
      second[t].resize(gradient.size());
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        first[t][i] = 0.9 * first[t][i] + 0.1 * gradient[i];
        second[t][i] = 0.999 * second[t][i] + 0.001 * gradient[i] * gradient[i];
        expected[t][i] -= rate * (first[t][i] / (1 - std::pow(0.9, step))) /
                          (std::sqrt(second[t][i] / (1 - std::pow(0.999, step))) + 1e-8);
      }
    }
    shared.step(x, y);
    // A gradient is a difference of weights near 1, to 2^-53; Adam divides by its size, which is above 1e-6 but for
    // gradients that are 0 up to rounding, whose direction says nothing.
    for (std::size_t t = 0; t < weights.size(); ++t)
      for (std::size_t i = 0; i < expected[t].size(); ++i)
        if (second[t][i] > 1e-3 * 1e-12)
          CHECK(std::abs(parameter(shared.parameters(), weights[t].name).values[i] - expected[t][i]) < 1e-9);
  }
}

TEST_CASE("a set is frozen by its layers' names, saved once, and goes on as it was") {
  const auto fake_data = [] { return Fake({.samples = 30, .classes = 11, .seed = 3}); };
  using Train = Trainer<All, Batch<4>, Freeze<Linear<12>>>;
  Train trainer;
  const std::vector<float> before = support::weights_of(trainer);
  trainer.fit(fake_data(), {.steps = 4, .progress = false});
  const auto frozen = parameter(trainer.parameters(), "2.0.0.0.1.weight");
  const ::test::Directory folder;
  trainer.save(folder / "set.safetensors");
  Trainer<All, Batch<4>, Freeze<Linear<12>>> other({.seed = 9});
  other.load(folder / "set.safetensors");
  CHECK(support::weights_of(other) == support::weights_of(trainer));
  trainer.fit(fake_data(), {.steps = 8, .progress = false});
  other.fit(fake_data(), {.steps = 8, .progress = false});
  CHECK(support::weights_of(other) == support::weights_of(trainer));
  Train fresh;
  CHECK(std::equal(frozen.values.begin(), frozen.values.end(),
                   parameter(fresh.parameters(), "2.0.0.0.1.weight").values.begin()));
  CHECK(support::weights_of(trainer) != before);
}

TEST_CASE("statistics of a BatchNorm in a set move once for each use") {
  struct Twice final
      : Model<
            Input<Vector<3>>,
            Fork<Add, Shared<Tower, BatchNorm<Momentum<Ratio<1, 4>>>>, Shared<Tower, BatchNorm<Momentum<Ratio<1, 4>>>>>,
            Linear<5>> {};
  Trainer<Twice, Batch<3>, Checkpoint<Selective<BatchNorm<Momentum<Ratio<1, 4>>>>>> trainer;
  trainer.poison_dead_memory();
  trainer.step(std::vector<float>{1, 2, 3, 4, 6, -3, 7, 10, 0}, std::vector<std::int32_t>{0, 1, 2});
  const auto mean = parameter(trainer.parameters(), "0.0.0.0.running_mean").values;
  CHECK(mean[0] == 0.75 * 1 + 0.25 * 4);  // of 0, a quarter of 4 and a quarter of 4 again
  CHECK(mean[1] == 0.75 * 1.5 + 0.25 * 6);
  CHECK(trainer.used().peak == trainer.planned().peak);
}
