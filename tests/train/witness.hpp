// tests/train/witness.hpp — a run whose dead memory is NaN against one whose is not.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "train/same_work.hpp"

namespace regimen::test {

inline constexpr std::size_t batch = 3;

struct Witnessed {
  std::vector<double> numbers;
  std::vector<float> weights;
  bool operator==(const Witnessed& other) const = default;
};

/// Three steps, the second of a short batch, with an evaluation between.
template <class Train>
Witnessed train_some(bool poison) {
  Train trainer{{.schedule = Schedule::constant(), .seed = 5}};
  constexpr std::size_t samples = batch * Train::micro_batches;
  const Work<Train> data(samples);
  if (poison) {
    trainer.poison_dead_memory();
    for (const auto& gradient : trainer.gradients())
      std::memset(gradient.values.data(), 0xFF, gradient.values.size_bytes());
  }
  Witnessed outcome;
  for (std::size_t now : {samples, samples - 1, samples}) {
    const std::size_t before = trainer.used().operations;
    const StepResult result =
        trainer.step({data.inputs.data(), now * Train::input_size}, {data.targets.data(), now * Train::target_size});
    outcome.numbers.push_back(result.loss);
    outcome.numbers.push_back(result.gradient_norm);
    CHECK(trainer.used().operations - before == Train::plan().operations());
    CHECK(result.applied);
    for (const auto output : trainer.predict({data.inputs.data(), 2 * Train::input_size}))
      outcome.numbers.push_back(double(output));
  }
  CHECK(trainer.used().peak == Train::plan().peak);
  outcome.weights = support::weights_of(trainer);
  for (const double number : outcome.numbers) CHECK(std::isfinite(number));
  return outcome;
}

template <class Network, class... Policies>
Witnessed witness(const char* what) {
  INFO(what);
  using Train = Trainer<Network, Batch<batch>, Policies...>;
  const Witnessed clean = train_some<Train>(false);
  CHECK(train_some<Train>(true) == clean);
  return clean;
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
