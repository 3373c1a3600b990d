// regimen/watch/history.ipp — the events of a run as CSV.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/watch/history.hpp>
#include <regimen/watch/text.hpp>

#include <algorithm>

namespace regimen {

REGIMEN_INLINE std::vector<std::string> History::names_of_metrics() const {
  std::vector<std::string> names;
  for (const Measured& found : metrics)
    for (const MetricValue& of : found.values)
      if (std::find(names.begin(), names.end(), of.name) == names.end()) names.push_back(of.name);
  return names;
}
REGIMEN_INLINE std::string History::csv() const {
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
REGIMEN_INLINE void History::save_csv(const std::string& path) const { detail::write_text(path, csv()); }

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
