// Masked and Summed: targets that are absent, and the sum in place of the mean, in micro-batches and on ranks.
#include <regimen/comm/launch.hpp>
#include <regimen/data/rows.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/loss/masked.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace regimen;

namespace {

struct Net final : Model<Input<Vector<4>>, Linear<8>, Tanh, Linear<2>> {};
using Maskable = Loss<Masked<MeanSquaredError>>;

/// Two numbers for each of so many samples; `absent`: of sample 0 both, of every third one.
struct Data {
  std::vector<double> x, y;
  explicit Data(std::size_t samples, bool absent = false) : x(samples * 4), y(samples * 2) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(3 * i + 1));
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = absent && (i < 2 || i % 3 == 2) ? no_target<double> : std::cos(double(5 * i));
  }
};

struct Outcome {
  std::vector<double> losses, norms, weights;
  std::vector<std::size_t> targets;
  bool operator==(const Outcome&) const = default;
};
/// Two steps of eight samples, four of a rank where there are two, and an evaluation of five.
template <class... Policies, class... Ranks>
Outcome trained(double rate, bool absent, Ranks&... ranks) {
  using Train = Trainer<Net, Precision<fp64>, Optimizer<Sgd>, Policies...>;
  Train trainer(ranks..., typename Train::Options{.optimizer = {.learning_rate = rate}});
  trainer.poison_dead_memory();
  Outcome found;
  const auto hears = [&](auto&, const StepResult& step) {
    found.losses.push_back(step.loss), found.norms.push_back(step.gradient_norm), found.targets.push_back(step.targets);
  };
  const Data data(16, absent), more(5, absent);
  trainer.fit(Rows(data.x, data.y, 4), {.steps = 2, .order = Order::Sequential, .progress = false}, hears);
  const Evaluation evaluation = trainer.evaluate(Rows(more.x, more.y, 4));
  found.losses.push_back(evaluation.loss), found.targets.push_back(evaluation.targets);
  CHECK(trainer.used().peak == trainer.planned().peak);
  found.weights = support::weights_of<double>(trainer);
  return found;
}
template <class... Policies>
Outcome on_two(double rate, bool absent) {
  Outcome all[2];
  launch(2, [&](comm::Threads& ranks) {
    all[ranks.rank()] = trained<Communicator<Threads>, Batch<4>, Policies...>(rate, absent, ranks);
  });
  CHECK(all[0] == all[1]);
  return all[0];
}
/// The same terms in other partial sums: 48 numbers of size 1 in a sum, and those of two layers behind each other.
bool near(const Outcome& a, const Outcome& b) {
  const auto agree = [](const std::vector<double>& left, const std::vector<double>& right) {
    for (std::size_t i = 0; i < left.size(); ++i)
      if (!(std::abs(left[i] - right[i]) <= 48 * 48 * 0x1p-53 * (1 + std::abs(left[i])))) return false;
    return left.size() == right.size();
  };
  return agree(a.losses, b.losses) && agree(a.norms, b.norms) && agree(a.weights, b.weights) && a.targets == b.targets;
}

}  // namespace

TEST_CASE("a sum of 16 targets is 16 means, bit by bit, and trains as they do at a sixteenth of the rate") {
  const Outcome mean = trained<Loss<MeanSquaredError>, Batch<8>>(0x1p-4, false),
                sum = trained<Loss<Summed<MeanSquaredError>>, Batch<8>>(0x1p-8, false);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(sum.losses[i] == 16 * mean.losses[i]);
    CHECK(sum.norms[i] == 16 * mean.norms[i]);
  }
  CHECK(std::abs(sum.losses[2] - 10 * mean.losses[2]) <=
        2 * 0x1p-53 * sum.losses[2]);  // of an evaluation, over all of it
  CHECK(sum.weights == mean.weights);
  CHECK(sum.targets == mean.targets);
}

TEST_CASE("micro-batches and ranks add up, also where they have other numbers of targets") {
  const Outcome masked = trained<Maskable, Batch<8>>(0.05, true);
  CHECK(masked.targets == std::vector<std::size_t>{9, 11, 5});
  CHECK(near(trained<Maskable, Batch<2>, Accumulate<4>>(0.05, true), masked));
  CHECK(near(on_two<Maskable>(0.05, true), masked));
  using Sum = Loss<Summed<Masked<MeanSquaredError>>>;
  const Outcome sum = trained<Sum, Batch<8>>(0.005, true);
  CHECK(near(trained<Sum, Batch<2>, Accumulate<4>>(0.005, true), sum));
  CHECK(near(on_two<Sum, Shard<ZeRO2>>(0.005, true), sum));
  CHECK(std::abs(sum.losses[0] - 9 * masked.losses[0]) <= 4 * 0x1p-53 * sum.losses[0]);
}

TEST_CASE("an absent target is no wrong one; without a target there is no step") {
  using Train = Trainer<Net, Maskable, Precision<fp64>, Batch<4>>;
  Train trainer;
  const std::vector<double> before = support::weights_of<double>(trainer);
  const Data data(4);
  const StepResult none = trainer.step(data.x, std::vector<double>(8, no_target<double>));
  CHECK(std::isnan(none.loss));
  CHECK(!none.applied);
  CHECK(none.targets == 0);
  CHECK(support::weights_of<double>(trainer) == before);
  std::vector<double> wrong(8, no_target<double>);
  wrong[3] = std::numeric_limits<double>::infinity();
  CHECK(!trainer.step(data.x, wrong).applied);
  Trainer<Net, Loss<MeanSquaredError>, Precision<fp64>, Batch<4>> plain;
  wrong.assign(8, 1), wrong[2] = no_target<double>;
  CHECK(!plain.step(data.x, wrong).applied);  // a loss that is not masked does not hide it
}
// SPDX-License-Identifier: Apache-2.0
