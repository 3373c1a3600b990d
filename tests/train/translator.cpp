// What stands in one model here stands alone elsewhere: two inputs, a set of weights, recurrence, an encoder whose text
// the decoder's blocks attend to, gates, a norm over ranks, two outputs and losses, a rule of whole tensors, a budget.
#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/data/text.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/emulated/device.hpp>
#include <regimen/loss/nt_xent.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace regimen;

namespace {

constexpr std::size_t source = 6, target = 4, words = 9, width = 8;
struct Words;
struct Encoded : NamedValue<Shape<source, width>> {};
using Text = Shared<Words, Embedding<Vocabulary<words>, width>>;
using Mlp = Residual<RmsNorm, Fork<Multiply, Sequential<Linear<12>, Silu>, Linear<12>>, Linear<width>>;
using EncoderBlock = Sequential<Residual<RmsNorm, SelfAttention<Heads<2>>>, Mlp>;
using DecoderBlock = Sequential<Residual<RmsNorm, SelfAttention<Heads<2>, Causal>>,
                                Residual<RmsNorm, CrossAttention<Encoded, Heads<2>>>, Mlp>;
template <class Norm>
struct Translator final
    : Model<Input<Bundle<Tokens<source>, Tokens<target>>>,
            Fork<Last, Sequential<Part<0>, Text, Lstm<width>, Repeat<2, EncoderBlock>, Norm, Keep<Encoded>>,
                 Sequential<Part<1>, Text, PositionEmbedding, Repeat<3, DecoderBlock>>>,
            Fork<Outputs, Linear<words>, Sequential<MeanPool, Linear<2>>>> {};
using Apart = Translator<RmsNorm>;
using Coupled = Translator<BatchNorm<OverRanks>>;
using Both = Loss<SumOf<CrossEntropy, Weighted<MeanSquaredError, Ratio<1, 2>>>>;

/// Two views of a thing, by one tower; and what the things are, by their first views.
struct Tower;
using Encode = Shared<Tower, Linear<6>, Gelu, Linear<5>>;
struct Views final : Model<Input<Bundle<Vector<7>, Vector<7>>>,
                           Fork<ConcatAlong<0>, Sequential<Part<0>, Encode>, Sequential<Part<1>, Encode>>,
                           Fork<Outputs, Identity, Linear<4>>> {};
using Contrast = Loss<SumOf<NtXent<Ratio<1, 5>>, Weighted<CrossEntropy, Ratio<1, 4>>>>;
struct Things {
  std::int32_t view_target = 0;
  std::size_t size(const SampleShape&) const { return 10; }
  template <class In, class Label>
  void read(std::size_t index, Sample<In, Label> sample) const {
    for (std::size_t i = 0; i < 7; ++i) {
      sample.input[0].template get<0>()[i] = std::sin(static_cast<float>(3 * index + i));
      sample.input[0].template get<1>()[i] = std::sin(static_cast<float>(3 * index + i) + 0.125f);
    }
    sample.target[0].template get<0>()[0] = view_target;
    sample.target[0].template get<1>()[0] = static_cast<std::int32_t>(index % 4);
  }
};

/// Of fp64 weights whose gradients are summed in another order, after five steps. Gradients are off by some 1e-15; a step
/// of AdamW is off by at most rate / epsilon = 1e5 times that, where a gradient is 0 but for rounding: 1e-10, five times;
/// what that changes in later gradients is given a factor of 20.
constexpr double most_apart = 1e-8;

std::vector<double> numbers(auto& trainer, std::size_t batches = 4) {
  const Fake fake({.samples = 24, .classes = words, .seed = 4});
  trainer.poison_dead_memory();
  const double loss = trainer.fit(fake, {.steps = batches, .progress = false}).loss;
  CHECK(trainer.used().peak == trainer.planned().peak);
  std::vector<double> all = support::weights_of<double>(trainer);
  all.push_back(loss);
  return all;
}
template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Both, Batch<4>, Policies...> trainer;
  return numbers(trainer);
}
template <class Network, class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Network, Both, Batch<2>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}

}  // namespace

TEST_CASE("a translator has the gradients of calculus") {
  CHECK(gradient_check<Apart, Both, Batch<2>, Precision<fp64>>({12, 1e-4, 1}).worst < 1e-7);
}
TEST_CASE("a translator has the same bits whatever is computed again") {
  const std::vector<double> plain = trained<Apart>();
  CHECK(trained<Apart, Checkpoint<Every<2>, Selective<RmsNorm>>>() == plain);
  constexpr std::size_t least = Trainer<Apart, Both, Batch<4>, Checkpoint<Every<1>>>::plan().peak;
  using Budgeted = Trainer<Apart, Both, Batch<4>, Checkpoint<Budget<least>>>;
  static_assert(Budgeted::plan().peak <= least);
  Budgeted budgeted;
  CHECK(numbers(budgeted) == plain);
}
TEST_CASE("a translator has the same bits under every Shard") {
  const std::vector<double> whole = on_two<Coupled, Optimizer<Muon>>();
  CHECK(on_two<Coupled, Optimizer<Muon>, Shard<ZeRO1>>() == whole);
  CHECK(on_two<Coupled, Optimizer<Muon>, Shard<ZeRO3>, Checkpoint<Every<1>>>() == whole);
}
TEST_CASE("a translator trains on a device, with its losses") {
  Trainer<Apart, Both, Batch<4>, Precision<fp64>> host;
  Trainer<Apart, Both, Batch<4>, Precision<fp64>, Device<Emulated>, Attention<Tiled>> device;
  const std::vector<double> there = numbers(device), here = numbers(host);
  double worst = 0;
  for (std::size_t i = 0; i < here.size(); ++i) worst = std::max(worst, std::abs(here[i] - there[i]));
  CHECK(worst < most_apart);
}
TEST_CASE("towers compare the samples of all ranks beside another loss") {
  Trainer<Views, Contrast, Batch<8>, Precision<fp64>> whole;
  const double alone = whole.fit(Things{}, {.steps = 5, .progress = false}).loss;
  const auto weights = support::weights_of<double>(whole);
  double worst = 1, together = 0;
  launch(2, [&](comm::Threads& ranks) {
    Trainer<Views, Contrast, Batch<4>, Precision<fp64>, Communicator<Threads>, Shard<ZeRO3>> part(ranks);
    const double loss = part.fit(Things{}, {.steps = 5, .progress = false}).loss;  // the last batch of an epoch has two
    const auto own = support::weights_of<double>(part);
    if (ranks.rank() > 0) return;
    worst = 0, together = loss;
    for (std::size_t i = 0; i < own.size(); ++i) worst = std::max(worst, std::abs(own[i] - weights[i]));
  });
  CHECK(worst < most_apart);
  CHECK(std::abs(together - alone) < most_apart);
  Trainer<Views, Contrast, Batch<8>> other;
  CHECK_THROWS_AS(other.fit(Things{1}, {.steps = 1, .progress = false}), Error);
}
