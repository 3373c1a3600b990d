// BatchNorm and its running statistics: state that is not trained, which moves once a micro-batch whatever is computed
// again, is the same on all ranks, is saved with the weights, and is what evaluation normalises by.
#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/gradient_check.hpp>
#include <regimen/trainers/inference.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/on_two.hpp"
#include "support/trained.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace regimen;

namespace {

template <class Norm>
using Block = Sequential<Residual<Norm, Gelu, Linear<12>>, Norm, Linear<12>>;
/// First, in a Repeat, in a Residual, in a branch, last but one.
template <class Norm>
struct Net : Model<Input<Image<4, 6, 3>>, Norm, Linear<12>, Repeat<3, Block<Norm>>,
                   Fork<Concat, Identity, Sequential<Linear<6, NoBias>, Norm, Silu>>, MeanPool, Norm, Linear<5>> {};
using Whole = Net<BatchNorm<>>;
using Pieces = Net<BatchNorm<PerMicroBatch>>;
/// The statistics of the input alone.
struct First final : Model<Input<Vector<3>>, BatchNorm<Momentum<Ratio<1, 4>>, Epsilon<Ratio<1, 1000>>>, Linear<5>> {};

const Fake& fake_data() {
  static const Fake fake({.samples = 24, .classes = 5, .seed = 4});
  return fake;
}
std::vector<double> numbers(auto& trainer) { return support::trained(trainer, fake_data(), 6); }
template <class Network, class... Policies>
std::vector<double> trained() {
  Trainer<Network, Policies...> trainer;
  return numbers(trainer);
}
template <class... Policies>
std::vector<double> on_two() {
  return support::on_two<Trainer<Pieces, Batch<3>, Communicator<Threads>, Policies...>>(
      [](auto& trainer) { return numbers(trainer); });
}
const auto& parameter(const auto& all, const std::string& name) {
  for (const auto& one : all)
    if (one.name == name) return one;
  FAIL("no parameter " << name);
  return all.front();
}

}  // namespace

TEST_CASE("BatchNorm has the gradients of calculus") {
  CHECK(gradient_check<Whole, Batch<3>, Precision<fp64>>({12, 1e-3, 1}).worst < 1e-6);
  CHECK(gradient_check<Pieces, Batch<3>, Accumulate<2>, Precision<fp64>>({12, 1e-3, 1}).worst < 1e-6);
  CHECK(gradient_check<Whole, Batch<3>, Freeze<BatchNorm<>>, Precision<fp64>>({12, 1e-3, 1}).worst < 1e-6);
}

TEST_CASE("running statistics move once, whatever is computed again and wherever weights lie") {
  const std::vector<double> plain = trained<Whole, Batch<4>>();
  CHECK(trained<Whole, Batch<4>, Checkpoint<Every<1>>>() == plain);
  CHECK(trained<Whole, Batch<4>, Checkpoint<Every<2>>>() == plain);
  CHECK(trained<Whole, Batch<4>, Checkpoint<Selective<BatchNorm<>, Gelu>>>() == plain);
  CHECK(trained<Pieces, Batch<4>>() == plain);  // one micro-batch is the batch
  CHECK(trained<Pieces, Batch<2>, Accumulate<2>, Checkpoint<Every<1>>>() == trained<Pieces, Batch<2>, Accumulate<2>>());
  const std::vector<double> replicated = on_two<>();
  CHECK(on_two<Shard<ZeRO1>>() == replicated);
  CHECK(on_two<Shard<ZeRO3>, Checkpoint<Every<1>>>() == replicated);
}

TEST_CASE("running statistics are the running means of those of the batches") {
  const std::vector<float> x{1, 2, 3, 4, 6, -3, 7, 10, 0};  // (3,3)
  const std::vector<std::int32_t> targets{0, 1, 2};
  Trainer<First, Batch<3>> trainer;
  const auto mean = [&](std::size_t c) { return double(parameter(trainer.parameters(), "0.running_mean").values[c]); };
  const auto variance = [&](std::size_t c) {
    return double(parameter(trainer.parameters(), "0.running_var").values[c]);
  };
  CHECK(mean(1) == 0);
  CHECK(variance(1) == 1);
  trainer.step(x, targets);
  // Means 4, 6, 0; variances with Bessel's correction 9, 16, 9; a quarter of them. All are exact.
  CHECK(mean(0) == 1);
  CHECK(mean(1) == 1.5);
  CHECK(mean(2) == 0);
  CHECK(variance(0) == 0.75 + 9 * 0.25);
  CHECK(variance(1) == 0.75 + 16 * 0.25);
  trainer.step(x, targets);
  CHECK(mean(1) == 0.75 * 1.5 + 0.25 * 6);
  trainer.step(std::vector<float>{9, 9, 9}, std::vector<std::int32_t>{0});  // one row: a mean, and no variance
  const double before = variance(1);
  CHECK(mean(0) == Approx(0.75 * 1.75 + 0.25 * 9));
  CHECK(before == Approx(0.75 * 4.75 + 4));
  trainer.evaluate(Fake({.samples = 6, .classes = 5}));
  const std::vector<float> y = trainer.predict(x);
  CHECK(variance(1) == before);
  // predict normalises by the running statistics, sample by sample, whatever the others are. (Of another number of samples a
  // library may sum products in another order.)
  const std::vector<float> beside_others = trainer.predict(std::vector<float>{-50, 9, 8, 4, 6, -3, 0, 70, 1});
  CHECK(std::equal(y.begin() + 5, y.begin() + 10, beside_others.begin() + 5));
  const auto all = trainer.parameters();
  const auto& weight = parameter(all, "1.weight").values;
  const auto& bias = parameter(all, "1.bias").values;
  const auto& gain = parameter(all, "0.weight").values;
  const auto& shift = parameter(all, "0.bias").values;
  for (std::size_t k = 0; k < 5; ++k) {
    double sum = double(bias[k]), size = std::abs(sum);
    for (std::size_t c = 0; c < 3; ++c) {
      const double normal = (double(x[c]) - mean(c)) / std::sqrt(variance(c) + 1e-3);
      const double term = double(weight[k * 3 + c]) * (normal * double(gain[c]) + double(shift[c]));
      sum += term;
      size += std::abs(term);
    }
    CHECK(std::abs(double(y[k]) - sum) <= 16 * 0x1p-24 * size);  // as many roundings of a term, at most
  }
}

TEST_CASE("a bias before BatchNorm has no effect") {
  using With = Model<Input<Image<5, 4, 3>>, Conv2d<6, 3>, BatchNorm<AfterBias>, Flatten, Linear<5>>;
  using Without = Model<Input<Image<5, 4, 3>>, Conv2d<6, 3, NoBias>, BatchNorm<>, Flatten, Linear<5>>;
  Trainer<With, Batch<4>, Precision<fp64>, Optimizer<Sgd>> with;
  Trainer<Without, Batch<4>, Precision<fp64>, Optimizer<Sgd>> without;
  const auto biased = with.parameters(), bare = without.parameters();
  for (const auto& one : bare) {
    const auto& other = parameter(biased, one.name).values;
    std::copy(other.begin(), other.end(), one.values.begin());
  }
  without.parameters_changed();
  for (double& value : parameter(biased, "0.bias").values) value = 3;
  with.parameters_changed();
  const double a = with.fit(fake_data(), {.steps = 4, .progress = false}).loss,
               b = without.fit(fake_data(), {.steps = 4, .progress = false}).loss;
  // Sums of a hundred numbers near 3, which the mean takes off: 2^-53 each, in four steps.
  CHECK(std::abs(a - b) <= 1e-12);
  for (const double value : parameter(biased, "0.bias").values) CHECK(std::abs(value - 3) <= 1e-14);
}

TEST_CASE("the mean of ranks is what each of them goes on with, and numbers that are not finite move nothing") {
  std::vector<double> means;
  launch(2, [&](comm::Threads& ranks) {
    Trainer<Model<Input<Vector<1>>, BatchNorm<PerMicroBatch>, Linear<2>>, Batch<2>, Communicator<Threads>> trainer(
        ranks);
    const float at = ranks.rank() == 0 ? 10.0f : 30.0f;
    trainer.step(std::vector<float>{at, at + 20}, std::vector<std::int32_t>{0, 1});
    const double mean = double(parameter(trainer.parameters(), "0.running_mean").values[0]);
    const auto both = trainer.parameters();
    if (ranks.rank() == 1) means = {mean, double(parameter(both, "0.running_var").values[0])};
  });
  CHECK(means[0] == Approx(3));  // a tenth of the mean of 20 and 40
  CHECK(means[1] == Approx(0.9 + 20));
  Trainer<First, Batch<2>> trainer;
  trainer.step(std::vector<float>{INFINITY, 1, 2, 1, 3, 4}, std::vector<std::int32_t>{0, 1});
  const auto all = trainer.parameters();
  CHECK(parameter(all, "0.running_mean").values[0] == 0);
  CHECK(parameter(all, "0.running_mean").values[1] == 0.5f);
}

TEST_CASE("running statistics are saved with the weights, by any number of ranks") {
  const ::test::Directory folder;
  const std::string whole = folder / "whole", parts = folder / "parts";
  Trainer<Pieces, Batch<4>> trainer;
  trainer.fit(fake_data(), {.steps = 3, .progress = false});
  trainer.save(whole);
  const std::vector<double> saved = support::weights_of<double>(trainer);
  const auto on_ranks = [&]<class Stage>(Stage) {
    launch(2, [&](comm::Threads& ranks) {
      Trainer<Pieces, Batch<2>, Communicator<Threads>, Shard<Stage>> other(ranks);
      other.load(whole);
      CHECK(support::weights_of<double>(other) == saved);
      other.save(parts);
      other.save_whole(parts + "_one");
    });
    for (const char* end : {"", "_one"}) {
      Trainer<Pieces, Batch<4>> again;
      again.load(parts + end);
      CHECK(support::weights_of<double>(again) == saved);
    }
  };
  on_ranks(Replicated{});
  on_ranks(ZeRO3{});
  Inference<Pieces, Batch<4>> inference(whole);  // products of as many rows as the Trainer's: equal bits
  const std::vector<float> x(3 * 72, 0.5f);
  CHECK(inference.predict(x) == trainer.predict(x));
  CHECK(inference.used().peak == inference.plan().peak);
  static_assert(Trainer<Pieces, Batch<4>>::plan().bytes(MemoryKind::buffer) > 0 &&
                Trainer<Model<Input<Vector<3>>, Linear<2>>, Batch<4>>::plan().bytes(MemoryKind::buffer) == 0);
}
