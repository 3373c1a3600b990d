// One rank that accumulates makes the updates of several.
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

}  // namespace

TEST_CASE("SimulateWorld<N> is the update of N ranks") {
  agrees<2>();
  agrees<3>();
}
// SPDX-License-Identifier: Apache-2.0
