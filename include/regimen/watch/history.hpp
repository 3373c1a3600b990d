// regimen/watch/history.hpp — the events of a run, as a value and as CSV.
#pragma once

#include <regimen/trainers/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace regimen {

/// A callback of fit that collects its events:
///
///   History history;
///   trainer.fit(data, held_out, {.epochs = 3, .validate_every = 100}, history);
///   history.save_csv("run.csv");
///
/// Further calls of fit add to it. Every rank may have one; steps, losses and evaluations are the same on all.
///
///   steps         the results of all steps
///   epochs        the ends of epochs
///   evaluations   each with the number of the step before it
///   metrics       the results of fit's metrics, in training and in evaluations
///
/// memory   88 bytes a step, up to twice as much while it grows
struct History {
  struct Evaluated {
    std::uint64_t step = 0;
    Evaluation evaluation{};
  };
  std::vector<StepResult> steps{};
  std::vector<EpochEvent> epochs{};
  std::vector<Evaluated> evaluations{};
  std::vector<Measured> metrics{};

  template <class Trainer>
  void operator()(Trainer&, const StepResult& step) {
    steps.push_back(step);
  }
  template <class Trainer>
  void operator()(Trainer&, std::span<const StepResult> launch) {
    steps.insert(steps.end(), launch.begin(), launch.end());
  }
  template <class Trainer>
  void operator()(Trainer&, const EpochEvent& epoch) {
    if (epoch.ended) epochs.push_back(epoch);
  }
  template <class Trainer>
  void operator()(Trainer& trainer, const Evaluation& evaluation) {
    evaluations.push_back({trainer.steps_done(), evaluation});
  }
  template <class Trainer>
  void operator()(Trainer&, const Measured& found) {
    metrics.push_back(found);
  }
  /// The names of metrics, in the order of their first results.
  std::vector<std::string> names_of_metrics() const;

  /// One table of all events: steps, then epochs, then evaluations, then results of metrics in training and in
  /// validation. Fields that an event lacks are empty. Each metric has a column after the others, except `accuracy`,
  /// which has a column anyway; names are in quotation marks if RFC 4180 requires it. Numbers have enough digits to be
  /// read back exactly; nan and inf are written as these words.
  std::string csv() const;
  /// Replaces the file as a whole.
  void save_csv(const std::string& path) const;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/watch/history.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
