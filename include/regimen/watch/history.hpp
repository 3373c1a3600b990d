// regimen/watch/history.hpp — what happened in a run, as a value and as CSV.
#pragma once

#include <regimen/train/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace regimen {

/// A callback of fit that collects what it hears:
///
///   History history;
///   trainer.fit(data, held_out, {.epochs = 3, .validate_every = 100}, history);
///   history.save_csv("run.csv");
///
/// Further calls of fit add to it. Every rank may have one; steps, losses and evaluations are the same on all.
///
///   steps         the results of steps, of every one
///   epochs        those that ended
///   evaluations   each with the number of the step before it
///   metrics       what the metrics that fit was given have found, in training and in evaluations
///
/// memory   88 bytes a step, up to twice as much while it grows
struct History final {
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
  /// The metrics that have been heard of, in that order.
  std::vector<std::string> names_of_metrics() const;

  /// One table of all events: steps, then epochs, then evaluations, then what metrics have found in training and in
  /// validation; what an event does not have is empty. Metrics have columns of their own behind the others, but for
  /// `accuracy`, which has one anyway; their names stand in quotation marks where they must (RFC 4180). Numbers have as
  /// many digits as give them again; nan and inf are written so.
  std::string csv() const;
  /// Replaces the file as a whole.
  void save_csv(const std::string& path) const;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/watch/history.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
