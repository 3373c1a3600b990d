// regimen/watch/run_text.ipp — a run's command and options as text.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/file.hpp>
#include <regimen/watch/run_text.hpp>

namespace regimen::detail {

REGIMEN_INLINE std::string command_line() {
  std::string text = system_text("/proc/self/cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& letter : text)
    if (letter == '\0' || letter == '\n') letter = ' ';
  return text;
}
REGIMEN_INLINE std::string text_of_schedule(const Schedule& schedule) {
  constexpr const char* shapes[] = {"constant", "cosine", "linear", "stable", "stairs"};
  return std::string(shapes[static_cast<int>(schedule.shape)]) + " warmup " + std::to_string(schedule.warmup) +
         " decay_from " + std::to_string(schedule.decay_from) + " end " + std::to_string(schedule.end) + " floor " +
         text_of(schedule.floor);
}
REGIMEN_INLINE std::string text_of_fit(const FitOptions& run) {
  constexpr const char* orders[] = {"Shuffled", "Random", "Sequential", "Runs"};
  constexpr const char* remainders[] = {"Short", "Drop", "Wrap"};
  const auto number = [](const char* name, std::uint64_t value) {
    return std::string(name) + " " + std::to_string(value) + " ";
  };
  return number("steps", run.steps) + number("epochs", run.epochs) + number("validate_every", run.validate_every) +
         number("patience", run.patience) + "order " + orders[static_cast<int>(run.order)] + " remainder " +
         remainders[static_cast<int>(run.remainder)] + " " +
         (run.workers == data::automatic ? "workers automatic " : number("workers", run.workers)) +
         number("ahead", run.ahead) + "validate_average " + (run.validate_average ? "true" : "false");
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
