// regimen/watch/history.hpp — what happened in a run, as a value and as CSV.
#pragma once

#include <regimen/train/result.hpp>
#include <regimen/watch/text.hpp>

#include <algorithm>
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
  std::vector<std::string> names_of_metrics() const {
    std::vector<std::string> names;
    for (const Measured& found : metrics)
      for (const MetricValue& of : found.values)
        if (std::find(names.begin(), names.end(), of.name) == names.end()) names.push_back(of.name);
    return names;
  }

  /// One table of all events: steps, then epochs, then evaluations, then what metrics have found in training and in
  /// validation; what an event does not have is empty. Metrics have columns of their own behind the others, but for
  /// `accuracy`, which has one anyway; their names stand in quotation marks where they must (RFC 4180). Numbers have as
  /// many digits as give them again; nan and inf are written so.
  std::string csv() const {
    using detail::text_of;
    std::vector<std::string> names = names_of_metrics();
    std::erase(names, "accuracy");
    std::string text =
        "event,step,epoch,loss,accuracy,targets,samples,seconds,learning_rate,gradient_norm,loss_scale,applied";
    for (const std::string& name : names) text += "," + detail::csv_field(name);
    const std::string end = std::string(names.size(), ',') + "\n";
    text += "\n";
    for (const StepResult& s : steps)
      text += "step," + std::to_string(s.step) + ",," + text_of(s.loss) + ",," + std::to_string(s.targets) + "," +
              std::to_string(s.samples) + "," + text_of(s.milliseconds * 1e-3) + "," + text_of(s.learning_rate) + "," +
              text_of(s.gradient_norm) + "," + text_of(s.loss_scale) + "," + (s.applied ? "1" : "0") + end;
    for (const EpochEvent& e : epochs)
      text += "epoch," + std::to_string(e.step) + "," + std::to_string(e.epoch) + "," + text_of(e.loss) + ",," +
              std::to_string(e.targets) + ",," + text_of(e.seconds) + ",,,," + end;
    for (const auto& [step, e] : evaluations)
      text += "evaluation," + std::to_string(step) + ",," + text_of(e.loss) + "," + text_of(e.accuracy) + "," +
              std::to_string(e.targets) + ",,,,,," + end;
    for (const Measured& found : metrics) {
      const auto cell = [&](const std::string& name) {
        const auto has = [&](const MetricValue& of) { return of.name == name; };
        return std::any_of(found.values.begin(), found.values.end(), has) ? text_of(found.value(name)) : std::string();
      };
      text += (found.evaluation ? "validation," : "training,") + std::to_string(found.step) + "," +
              std::to_string(found.epoch) + ",," + cell("accuracy") + "," +
              (found.evaluation ? "" : std::to_string(found.targets)) + ",,,,,,";
      for (const std::string& name : names) text += "," + cell(name);
      text += "\n";
    }
    return text;
  }
  /// Replaces the file as a whole.
  void save_csv(const std::string& path) const { detail::write_text(path, csv()); }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
