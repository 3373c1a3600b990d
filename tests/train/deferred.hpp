// tests/train/deferred.hpp — one recipe on two engines: the CPU's, and one that works late and out of the host's reach.
#pragma once

#include "support/deferred.hpp"

#include <regimen/comm/launch.hpp>
#include <regimen/data/fake.hpp>
#include <regimen/engine/cpu/device.hpp>
#include <regimen/trainers/trainer.hpp>

#include "support/catch.hpp"
#include "support/weights.hpp"
#include "temporary.hpp"
#include "train/odd_models.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace regimen::test {

struct DeferredOutcome {
  std::vector<double> numbers;
  std::vector<double> weights;
  bool operator==(const DeferredOutcome&) const = default;
};

inline const Fake& fake_data() {
  static const Fake fake(
      {.samples = 22, .classes = 5, .seed = 3});  // no multiple of a batch: the last of an epoch is short
  return fake;
}

template <class F>
void for_each_result(const StepResult& result, const F& f) {
  f(result);
}
template <class F>
void for_each_result(std::span<const StepResult> results, const F& f) {
  for (const StepResult& result : results) f(result);
}

/// How far a training goes: saved after `saved` steps and resumed in the file's place, after some more; evaluation
/// between them.
struct Lengths {
  std::uint64_t saved = 5, more = 8, all = 12;
};
template <class Train>
DeferredOutcome train(Train& trainer, const std::string& file, bool listens = true, const Lengths& lengths = {}) {
  DeferredOutcome outcome;
  const auto add = [&](const StepResult& result) {
    for (const double number :
         {result.loss, result.gradient_norm, result.learning_rate, result.loss_scale, double(result.applied)})
      outcome.numbers.push_back(std::isnan(number) ? -1 : number);
  };
  const auto fit = [&](std::uint64_t steps) {
    if (listens)
      trainer.fit(fake_data(), {.steps = steps, .progress = false},
                  [&](Train&, trainers::TrainingEvent<Train> event) { for_each_result(event, add); });
    else outcome.numbers.push_back(trainer.fit(fake_data(), {.steps = steps, .progress = false}).loss);
  };
  trainer.poison_dead_memory();
  fit(lengths.saved);
  trainer.save(file);
  const Evaluation evaluation = trainer.evaluate(fake_data());
  outcome.numbers.insert(outcome.numbers.end(), {evaluation.loss, evaluation.accuracy});
  fit(lengths.more);
  trainer.load(file);
  fit(lengths.all);
  outcome.weights = support::weights_of<double>(trainer);
  CHECK(trainer.used().peak == trainer.planned().peak);
  return outcome;
}

/// The same by another Trainer, after two steps in which as many operations run as planned.
template <class Train>
DeferredOutcome trained_as_planned() {
  const ::test::Directory folder;
  Train trainer;
  const std::size_t before = trainer.used().operations;  // copies of the weights
  trainer.fit(fake_data(), {.steps = 2, .progress = false});
  CHECK(trainer.used().operations - before == 2 * Train::plan().operations());
  Train again;
  return train(again, folder / "state");
}

template <class Network, class... Policies>
void trains_the_same(const char* what) {
  INFO(what);
  const ::test::Directory folder;
  Trainer<Network, Policies...> here;
  Trainer<Network, Policies..., Device<Deferred>> there;
  const DeferredOutcome expected = train(here, folder / "here");
  CHECK(train(there, folder / "there") == expected);
  CHECK(here.used().operations == there.used().operations);
  // What one has saved the other resumes.
  Trainer<Network, Policies..., Device<Deferred>> other;
  other.load(folder / "here");
  here.load(folder / "there");
  CHECK(support::weights_of<double>(here) == support::weights_of<double>(other));
  // Results that are read late are the same, too.
  Trainer<Network, Policies...> quiet_here;
  Trainer<Network, Policies..., Device<Deferred>> quiet_there;
  CHECK(train(quiet_there, folder / "quiet", false) == train(quiet_here, folder / "quiet", false));
}

template <class... Policies>
void ranks_train_the_same(std::size_t ranks, const char* what) {
  INFO(what << " by " << ranks << " ranks");
  const ::test::Directory folder;
  const auto run = [&]<class... More>(boost::mp11::mp_list<More...>, const std::string& file) {
    std::vector<DeferredOutcome> outcomes(ranks);
    launch(ranks, [&](comm::Threads& communicator) {
      Trainer<Gpt<3>, Batch<2>, Communicator<Threads>, Policies..., More...> trainer(communicator);
      trainer.poison_dead_memory();
      trainer.fit(fake_data(), {.steps = 4, .progress = false});
      trainer.save(file);
      outcomes[communicator.rank()].numbers.push_back(trainer.evaluate(fake_data()).loss);
      trainer.load(file);
      trainer.fit(fake_data(), {.steps = 8, .progress = false});
      outcomes[communicator.rank()].weights = support::weights_of<double>(trainer);
    });
    return outcomes;
  };
  CHECK(run(boost::mp11::mp_list<Device<Deferred>>{}, folder / "there") ==
        run(boost::mp11::mp_list<>{}, folder / "here"));
}

/// A layer that computes a NaN is named on a device whose numbers the host reads late.
template <class Where>
void names_the_first_layer_that_is_not_finite() {
  using Train = Trainer<Gpt<3>, Batch<4>, Debug<Anomaly>, Device<Where>>;
  Train trainer;
  for (const auto& parameter : trainer.parameters())
    if (parameter.name == "4.weight") parameter.values[0] = std::numeric_limits<float>::quiet_NaN();
  trainer.parameters_changed();
  const std::string error = ::test::error_of([&] { trainer.fit(fake_data(), {.steps = 3, .progress = false}); });
  INFO(error);
  CHECK(::test::says(error, "step 1, output of layer 4 (layer_norm)"));
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
