// tests/train/ranks.hpp — one training, by ranks of any kind.
#pragma once

#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/weights.hpp"
#include "train/odd_models.hpp"

#include <vector>

namespace regimen::test {

struct Outcome {
  std::vector<double> losses, norms, evaluations;
  std::vector<float> weights;
  bool as_planned = true;  // Catch2's checks belong to one thread
  bool operator==(const Outcome& other) const = default;
};

/// Steps over data whose last batch of an epoch is short, and for some ranks empty.
template <class Train, class... Ranks>
Outcome train_as_rank(bool poison, std::uint64_t steps, Ranks&... communicator) {
  static const Fake data({.samples = 43, .classes = 11, .seed = 3});
  Train trainer(communicator..., typename Train::Options{});
  if (poison) trainer.poison_dead_memory();
  Outcome outcome;
  trainer.fit(data, {.steps = steps, .progress = false}, [&](Train&, const StepResult& result) {
    outcome.losses.push_back(result.loss);
    outcome.norms.push_back(result.gradient_norm);
  });
  outcome.evaluations.push_back(trainer.evaluate(data).loss);
  outcome.as_planned = trainer.used().peak == trainer.planned().peak;
  outcome.weights = support::weights_of(trainer);
  return outcome;
}

/// What each of so many threads has at the end.
template <class Train>
std::vector<Outcome> outcomes_of_threads(std::size_t ranks, bool poison, std::uint64_t steps) {
  std::vector<Outcome> outcomes(ranks);
  launch(ranks, [&](comm::Threads& communicator) {
    outcomes[communicator.rank()] = train_as_rank<Train>(poison, steps, communicator);
  });
  return outcomes;
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
