// Frozen: layers of a place that keep their weights, as Freeze has it for types, with the names and in the memory of the
// same layers written out; and statistics that stay.
#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

using namespace regimen;

namespace {

struct Name;
using Drop = Dropout<Ratio<1, 4>>;
using Table = Embedding<Vocabulary<9>, 12>;
/// Layers of types that stand nowhere else, in every position: first, in a Residual in a Repeat, in a Checkpointed and
/// around one, as a branch and within one, in an As, a Shared, behind what trains and before it.
template <template <class...> class Around>
struct Net final
    : Model<Input<Tokens<6>>, Around<Table, Drop>,
            Repeat<3, Sequential<Residual<Around<LayerNorm, Drop>, SelfAttention<Heads<2>, Causal>, Drop>,
                                 Residual<RmsNorm, Linear<48>, Gelu, Checkpointed<Drop, Around<Linear<12, NoBias>>>>>>,
            Fork<Add, Around<Sequential<Linear<13>, Silu, Checkpointed<Linear<12, NoBias>>>>, Linear<12>>,
            Fork<Multiply, Identity, Sequential<Linear<24>, Around<GroupNorm<2>>, Linear<12>>>,
            Around<Repeat<2, Sequential<LayerNorm, As<fp32, Linear<12, NoBias>>>>>,
            Around<Shared<Name, Linear<14>>, Tanh>, Linear<9>> {};
using ByType = Freeze<Table, LayerNorm, Linear<12, NoBias>, Linear<13>, GroupNorm<2>, Linear<14>>;

struct Result {
  std::vector<double> weights;
  std::vector<std::string> names, gradients;
  bool operator==(const Result&) const = default;
};
/// Gradients are asked of one rank.
Result numbers(auto& trainer, bool asks_gradients = true) {
  trainer.poison_dead_memory();
  const double loss = trainer.fit(Fake({.samples = 16, .classes = 9, .seed = 4}), {.steps = 4, .progress = false}).loss;
  CHECK(trainer.used().peak == trainer.planned().peak);
  Result all{support::weights_of<double>(trainer), {}, {}};
  all.weights.push_back(loss);
  for (const auto& parameter : trainer.parameters()) all.names.push_back(parameter.name);
  if (asks_gradients)
    for (const auto& gradient : trainer.gradients()) all.gradients.push_back(gradient.name);
  return all;
}

template <class Network, class... Policies>
Result trained() {
  Trainer<Network, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class Network, class... Policies>
Result on_two() {
  Result found;
  launch(2, [&](comm::Threads& ranks) {
    Trainer<Network, Batch<2>, Communicator<Threads>, Policies...> trainer(ranks);
    const Result own = numbers(trainer, false);
    if (ranks.rank() == 0) found = own;
  });
  return found;
}
template <class Network, class... Policies>
constexpr MemoryPlan plan_of = Trainer<Network, Batch<4>, Policies...>::plan();

/// The layers of a list as they are, where a Frozen would stand.
template <class... Layers>
using Image_ = Model<Input<Image<4, 4, 3>>, Layers...>;
template <class... Layers>
struct Conv final : Image_<Layers..., GlobalAveragePool, Linear<5>> {};
using Backbone = Sequential<Conv2d<6, 3, Padding<1>, NoBias>, BatchNorm<PerMicroBatch>, Relu>;
using Before = Conv2d<3, 3, Padding<1>>;

const auto& parameter(const auto& all, const std::string& name) {
  for (const auto& one : all)
    if (one.name == name) return one;
  FAIL("no parameter " << name);
  return all.front();
}
std::vector<double> statistics(auto& trainer) {
  std::vector<double> all;
  for (const auto& parameter : trainer.parameters())
    if (parameter.name.find("running") != std::string::npos)
      for (const auto value : parameter.values) all.push_back(static_cast<double>(value));
  return all;
}
/// Weights and statistics that are neither those of the beginning nor the same in two channels.
void fill(auto& trainer) {
  std::size_t i = 0;
  for (const auto& parameter : trainer.parameters())
    for (auto& value : parameter.values) {
      const double drawn = double(i++ * 7 % 23) / 23;
      value = static_cast<std::remove_reference_t<decltype(value)>>(
          parameter.name.find("running_var") != std::string::npos ? 0.5 + drawn : drawn - 0.4);
    }
  trainer.parameters_changed();
}
template <class T>
struct Samples {
  std::vector<T> x;
  std::vector<std::int32_t> y;
  explicit Samples(std::size_t count) : x(count * 48), y(count) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(i * 5 % 19) / T(8) - T(1);
    for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<std::int32_t>(i % 5);
  }
};

}  // namespace

TEST_CASE("a place trains as its types do with Freeze, in the same memory and under the same names") {
  const Result by_type = trained<Net<Sequential>, ByType>(), here = trained<Net<Frozen>>();
  CHECK(here.weights == by_type.weights);
  CHECK(here.gradients.size() == by_type.gradients.size());
  CHECK(here.gradients.size() < here.names.size());
  CHECK(trained<Net<Frozen>, Checkpoint<Every<2>, Selective<LayerNorm, Drop>>>() == here);
  CHECK(trained<Net<Frozen>, Fusion<Unfused>>().weights == trained<Net<Sequential>, ByType, Fusion<Unfused>>().weights);
  static_assert(plan_of<Net<Frozen>>.peak == plan_of<Net<Sequential>, ByType>.peak);
  static_assert(plan_of<Net<Frozen>>.kinds == plan_of<Net<Sequential>, ByType>.kinds);
  static_assert(plan_of<Net<Frozen>>.backward.flops == plan_of<Net<Sequential>, ByType>.backward.flops);
  static_assert(plan_of<Net<Frozen>>.backward.flops < plan_of<Net<Sequential>>.backward.flops);
}
TEST_CASE("on ranks") {
  const Result replicated = on_two<Net<Frozen>>();
  CHECK(replicated.weights == on_two<Net<Sequential>, ByType>().weights);
  CHECK(on_two<Net<Frozen>, Shard<Replicated>, Checkpoint<Every<1>>>() == replicated);
}
TEST_CASE("units that are frozen as a whole are cut") {
  struct Cut final : Model<Input<Tokens<6>>, Frozen<Table, Repeat<2, Residual<LayerNorm, Linear<12>>>>, Linear<12>,
                           Gelu, Frozen<LayerNorm>, Linear<9>> {};
  const Result replicated = on_two<Cut>();
  CHECK(on_two<Cut, Shard<ZeRO3>>() == replicated);
  CHECK(on_two<Cut, Shard<ZeRO1>, Checkpoint<Every<1>>>() == replicated);
}
TEST_CASE("a base beside its adapter is frozen where both have one type") {
  using Base = Linear<16, NoBias>;
  using Adapter = Sequential<Linear<4, NoBias>, Linear<16, NoBias>>;
  struct Adapted final : Model<Input<Vector<16>>, Fork<Add, Frozen<Base>, Adapter>, Relu, Linear<9>> {};
  struct Plain final : Model<Input<Vector<16>>, Fork<Add, Base, Adapter>, Relu, Linear<9>> {};
  const Result here = trained<Adapted>(), plain = trained<Plain>();
  CHECK(here.names == plain.names);
  CHECK(here.gradients == std::vector<std::string>{"0.1.0.weight", "0.1.1.weight", "2.weight", "2.bias"});
}
TEST_CASE("names are those of the layers without it: in a list, as a branch, and as a block") {
  struct Here final : Model<Input<Vector<8>>, Frozen<Linear<8>, Frozen<Relu, Linear<8>>>, Linear<8>,
                            Fork<Add, Frozen<Sequential<Linear<8>, Tanh, Linear<8>>>, Identity>,
                            Repeat<2, Frozen<Sequential<Linear<8>, Silu>>>, Frozen<Sequential<Linear<8>>>, Linear<9>> {
  };
  struct There final : Model<Input<Vector<8>>, Linear<8>, Relu, Linear<8>, Linear<8>,
                             Fork<Add, Sequential<Linear<8>, Tanh, Linear<8>>, Identity>,
                             Repeat<2, Sequential<Linear<8>, Silu>>, Sequential<Linear<8>>, Linear<9>> {};
  const Result here = trained<Here>();
  CHECK(here.names == trained<There>().names);
  CHECK(here.gradients == std::vector<std::string>{"3.weight", "3.bias", "7.weight", "7.bias"});
}
TEST_CASE("attention keeps its weights, and passes gradients") {
  struct Attending final
      : Model<Input<Tokens<6>>, Table, Frozen<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>>, Linear<9>> {};
  using Train = Trainer<Attending, Batch<4>, Precision<fp64>>;
  Train trainer, fresh;
  numbers(trainer);
  for (const auto& before : fresh.parameters()) {
    CAPTURE(before.name);
    const bool stays = before.name.starts_with("1.");
    CHECK((std::equal(before.values.begin(), before.values.end(),
                      parameter(trainer.parameters(), before.name).values.begin())) == stays);
  }
  CHECK(gradient_check<Attending, Batch<2>, Precision<fp64>>().worst < 1e-6);
}
TEST_CASE("a tied table is frozen in all its places") {
  struct Tied final : Model<Input<Tokens<6>>, Frozen<Table>, Linear<12>, Frozen<LayerNorm, TiedLinear<Table>>> {};
  Trainer<Tied, Batch<4>> trainer;
  const Result all = numbers(trainer);
  CHECK(all.gradients == std::vector<std::string>{"1.weight", "1.bias"});
  struct Plain final : Model<Input<Tokens<6>>, Table, Linear<12>, LayerNorm, TiedLinear<Table>> {};
  static_assert(plan_of<Tied>.peak == plan_of<Plain, Freeze<Table, LayerNorm>>.peak);
  CHECK(trained<Plain, Freeze<Table, LayerNorm>>() == all);
}

TEST_CASE("without KeepStatistics a frozen BatchNorm moves its statistics; with it they stay to the bit") {
  Samples<float> samples(6);
  Trainer<Conv<Before, Frozen<Backbone>>, Batch<6>> moves;
  Trainer<Conv<Before, Frozen<KeepStatistics, Backbone>>, Batch<6>> stays;
  Trainer<Conv<Before, Frozen<KeepStatistics, Backbone>>, Batch<2>, SimulateWorld<3>> simulated;
  fill(moves), fill(stays), fill(simulated);
  const std::vector<double> before = statistics(stays);
  for (int i = 0; i < 3; ++i) {
    CHECK(moves.step(samples.x, samples.y).loss != stays.step(samples.x, samples.y).loss);
    simulated.step(samples.x, samples.y);
  }
  CHECK(statistics(moves) != before);
  CHECK(statistics(stays) == before);
  CHECK(statistics(simulated) == before);
  launch(3, [&](comm::Threads& ranks) {
    Trainer<Conv<Before, Frozen<KeepStatistics, Backbone>>, Batch<2>, Communicator<Threads>> trainer(ranks);
    fill(trainer);
    const Samples<float> own(2);
    trainer.step(own.x, own.y);
    CHECK(statistics(trainer) == before);
  });
}
TEST_CASE(
    "with KeepStatistics the batch has no say: training computes what evaluation does, and gradients are of that") {
  using Network = Conv<Before, Frozen<KeepStatistics, Backbone>>;
  Samples<double> samples(4);
  Trainer<Network, Batch<4>, Precision<fp64>, Optimizer<Sgd>> trainer({.optimizer = {.learning_rate = 1}});
  Trainer<Network, Batch<1>, Accumulate<4>, Precision<fp64>, Optimizer<Sgd>> pieces(
      {.optimizer = {.learning_rate = 1}});
  fill(trainer), fill(pieces);
  const auto loss_of = [&] {  // of evaluation: by what predict says of each sample
    const auto logits = trainer.predict(samples.x);
    double sum = 0;
    for (std::size_t s = 0; s < 4; ++s) {
      double all = 0;
      for (std::size_t j = 0; j < 5; ++j) all += std::exp(double(logits[s * 5 + j]));
      sum += std::log(all) - double(logits[s * 5 + static_cast<std::size_t>(samples.y[s])]);
    }
    return sum / 4;
  };
  const double evaluated = loss_of();
  // Central differences at h = 1e-5: h² of calculus and 2^-53 / h of rounding are below 1e-9.
  std::map<std::string, std::vector<double>> expected;
  for (const auto& tensor : trainer.parameters()) {
    if (!tensor.name.starts_with("0.")) continue;
    for (std::size_t i = 0; i < tensor.values.size(); i += 5) {
      const auto at = [&](double value) {
        tensor.values[i] = value;
        trainer.parameters_changed();
        return loss_of();
      };
      const double here = tensor.values[i], above = at(here + 1e-5), below = at(here - 1e-5);
      at(here);
      expected[tensor.name].push_back((above - below) / 2e-5);
    }
  }
  std::map<std::string, std::vector<double>> old;
  for (const auto& tensor : trainer.parameters()) old[tensor.name] = {tensor.values.begin(), tensor.values.end()};
  CHECK(std::abs(trainer.step(samples.x, samples.y).loss - evaluated) < 1e-12);
  pieces.step(samples.x, samples.y);
  double largest = 0;
  for (const auto& [name, differences] : expected)
    for (std::size_t j = 0; j < differences.size(); ++j) {
      const double gradient = old[name][j * 5] - double(parameter(trainer.parameters(), name).values[j * 5]);
      CHECK(std::abs(gradient - differences[j]) < 1e-8);
      largest = std::max(largest, std::abs(gradient));
    }
  CHECK(largest > 1e-3);
  const auto whole = support::weights_of<double>(trainer), cut = support::weights_of<double>(pieces);
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(std::abs(whole[i] - cut[i]) < 1e-13);
}
TEST_CASE("a backbone at the beginning has no backward, and keeps nothing") {
  using Tuned = Conv<Frozen<KeepStatistics, Backbone>>;
  static_assert(plan_of<Tuned>.bytes(MemoryKind::gradient) < plan_of<Conv<Backbone>>.bytes(MemoryKind::gradient) &&
                plan_of<Tuned>.bytes(MemoryKind::optimizer) < plan_of<Conv<Backbone>>.bytes(MemoryKind::optimizer) &&
                plan_of<Tuned>.bytes(MemoryKind::saved) < plan_of<Conv<Backbone>>.bytes(MemoryKind::saved));
}
TEST_CASE("weights that were saved without it are read with it, and the other way round") {
  const ::test::Directory folder;
  Trainer<Conv<Backbone>, Batch<4>> whole;
  Trainer<Conv<Frozen<KeepStatistics, Backbone>>, Batch<4>> tuned;
  fill(whole);
  whole.save(folder / "whole.safetensors");
  tuned.load_weights(folder / "whole.safetensors");
  CHECK(support::weights_of(tuned) == support::weights_of(whole));
  tuned.step(Samples<float>(4).x, Samples<float>(4).y);
  tuned.save(folder / "tuned.safetensors");
  whole.load_weights(folder / "tuned.safetensors");
  CHECK(support::weights_of(tuned) == support::weights_of(whole));
  Inference<Conv<Frozen<KeepStatistics, Backbone>>> inference(folder / "tuned.safetensors");
  CHECK(inference.predict(Samples<float>(1).x) == tuned.predict(Samples<float>(1).x));
}
// SPDX-License-Identifier: Apache-2.0
