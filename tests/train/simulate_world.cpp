// One rank that accumulates makes the updates of several.
#include "support/trained.hpp"
#include "support/weights.hpp"
#include "train/shard.hpp"

#include <algorithm>
#include <cmath>

using namespace regimen;
using namespace regimen::test;

namespace {

template <class... Policies>
using Train = Trainer<Gpt<2>, Precision<fp64>, Batch<2>, Clip<Norm<Ratio<1, 4>>>, Policies...>;

constexpr std::uint64_t steps = 10;

struct Run {
  std::vector<double> losses, weights;
};

template <class T>
Run run(T& trainer) {
  static const Fake data({.samples = 36, .classes = 11, .seed = 3});  // several epochs of whole steps
  Run outcome;
  trainer.fit(data, {.steps = steps, .progress = false},
              [&](T&, const StepResult& result) { outcome.losses.push_back(result.loss); });
  outcome.weights = support::weights_of<double>(trainer);
  return outcome;
}

template <std::size_t ranks>
void agrees() {
  INFO(ranks << " ranks");
  Train<SimulateWorld<ranks>> alone;
  const Run one = run(alone);
  Run all;
  launch(ranks, [&](comm::Threads& communicator) {
    Train<Communicator<Threads>> rank(communicator);
    const Run own = run(rank);
    if (communicator.rank() == 0) all = own;
  });
  REQUIRE(one.losses.size() == steps);
  REQUIRE(one.weights.size() == all.weights.size());
  // A gradient of norm <= 1/4 differs by its sums' order: at most 1000 summands, 1000 · 2^-53 · 1/4 < 3e-14. Where it
  // is nearly zero AdamW divides that by epsilon = 1e-8: 3e-6 of a learning rate of 1e-3 a step, 3e-8 in ten steps.
  // Other samples, masks or weights of the sums change whole steps: 1e-3.
  // A loss moves by that, times the sum of its gradient's sizes, below 30.
  double apart = 0;
  for (std::size_t i = 0; i < one.weights.size(); ++i)
    apart = std::max(apart, std::abs(one.weights[i] - all.weights[i]));
  CHECK(apart <= 3e-8);
  for (std::size_t i = 0; i < steps; ++i) CHECK(std::abs(one.losses[i] - all.losses[i]) <= 1e-6);
}

struct Normed final : Model<Input<Vector<12>>, Linear<8, NoBias>, BatchNorm<PerMicroBatch>, Relu,
                            Repeat<2, Residual<Linear<8, NoBias>, BatchNorm<PerMicroBatch>>>, Linear<5>> {};

/// Weights, running statistics among them, and the losses of the last step and of an evaluation, which normalises by these.
template <class T>
std::vector<double> normed(T& trainer) {
  static const Fake data({.samples = 48, .classes = 5, .seed = 4});
  std::vector<double> all = support::trained(trainer, data, 8);
  all.push_back(trainer.evaluate(data).loss);
  return all;
}
/// The sums' order is 1e-8 apart, as above; statistics that moved N times a step instead of once are 0.2 apart.
template <std::size_t ranks, class... Policies>
void moves_alike() {
  INFO(ranks << " ranks");
  Trainer<Normed, Precision<fp64>, Batch<4>, SimulateWorld<ranks>, Policies...> alone;
  const std::vector<double> one = normed(alone);
  std::vector<double> all;
  launch(ranks, [&](comm::Threads& communicator) {
    Trainer<Normed, Precision<fp64>, Batch<4>, Communicator<Threads>, Policies...> rank(communicator);
    const std::vector<double> own = normed(rank);
    if (communicator.rank() == 0) all = own;
  });
  REQUIRE(one.size() == all.size());
  double apart = 0;
  for (std::size_t i = 0; i < one.size(); ++i) apart = std::max(apart, std::abs(one[i] - all[i]));
  CHECK(apart <= 1e-6);
}

}  // namespace

TEST_CASE("SimulateWorld<N> is the update of N ranks") {
  agrees<2>();
  agrees<3>();
}
TEST_CASE("running statistics move as those of N ranks do") {
  moves_alike<2>();
  moves_alike<3, Checkpoint<Every<1>, Selective<BatchNorm<PerMicroBatch>>>>();
}
// SPDX-License-Identifier: Apache-2.0
