// tests/train/shard.hpp — the same training by ranks that are threads, under any policy.
#pragma once

#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/train/trainer.hpp>

#include "support/catch.hpp"
#include "train/odd_models.hpp"

#include <mutex>
#include <vector>

namespace regimen::test {

struct Outcome {
  std::vector<double> losses, norms, evaluations;
  std::vector<float> weights;
  bool as_planned = true;  // Catch2's checks belong to one thread
  bool operator==(const Outcome& other) const = default;
};

/// Twenty steps over data whose last batch of an epoch is short, and for some ranks empty.
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
  for (const auto& parameter : trainer.parameters()) outcome.weights.insert(outcome.weights.end(), parameter.values.begin(), parameter.values.end());
  return outcome;
}

/// The outcome of rank 0, after all ranks were found to have the same.
template <class Train>
Outcome train_on(std::size_t ranks, bool poison = false, std::uint64_t steps = 20) {
  std::vector<Outcome> outcomes(ranks);
  launch(ranks, [&](comm::Threads& communicator) { outcomes[communicator.rank()] = train_as_rank<Train>(poison, steps, communicator); });
  CHECK(outcomes[0].as_planned);
  for (std::size_t rank = 1; rank < ranks; ++rank) CHECK(outcomes[rank] == outcomes[0]);
  return outcomes[0];
}

/// How far two runs are apart, relative to the largest weight.
inline double distance(const Outcome& a, const Outcome& b) {
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    largest = std::max(largest, std::abs(double(a.weights[i])));
    difference = std::max(difference, std::abs(double(a.weights[i]) - double(b.weights[i])));
  }
  return difference / largest;
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
