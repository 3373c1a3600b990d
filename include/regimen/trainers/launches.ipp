// regimen/trainers/launches.ipp — the bodies of launches.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/file.hpp>
#include <regimen/core/say.hpp>
#include <regimen/trainers/launches.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <exception>

namespace regimen::trainers {

REGIMEN_INLINE void in_average(const std::string& who) {
  throw Error(who, "a call outside of with_average", "one inside of it", "evaluate, predict or generate there");
}

REGIMEN_INLINE void out_of_order(Waiting waiting, const char* what) {
  if (waiting == Waiting::average) in_average(std::string("Trainer::") + what);
  const char* const due = waiting == Waiting::forward    ? "forward"
                          : waiting == Waiting::backward ? "backward"
                                                         : "apply, or another forward,";
  throw Error(
      std::string("Trainer::") + what, "the order forward, backward, apply",
      std::string(what) + " where " + due + " is due",
      "finish the step that has begun, or call abandon(); several forward-backward pairs may precede one apply");
}

REGIMEN_INLINE void check_groups(std::size_t group, std::size_t ranks) {
  if (group > 0 && ranks % group != 0)
    throw Error("Trainer", "a multiple of " + std::to_string(group) + " ranks, as Hybrid says", std::to_string(ranks),
                "start that many, or write Hybrid<N> with an N that divides them");
}

REGIMEN_INLINE void in_callback(const char* who) {
  throw Error(who, "a call outside of fit", "one in a callback of fit",
              "let the callback return false, which ends fit, and call it then");
}

REGIMEN_INLINE void guard(FunctionRef<void()> body, FunctionRef<void(const std::string&)> give_up) {
  try {
    body();
  } catch (...) {
    give_up(regimen::detail::words_of(std::current_exception()));
    throw;
  }
}

REGIMEN_INLINE void check_world(std::size_t world, std::size_t ranks) {
  if (ranks != world)
    throw Error("Trainer", std::to_string(world) + " ranks, as World says", std::to_string(ranks),
                "start that many, or leave World out");
}

REGIMEN_INLINE void say_arithmetic(std::size_t rank, std::size_t ranks, const std::string& description) {
  regimen::detail::say("regimen: " + (ranks > 1 ? "rank " + std::to_string(rank) + ": " : std::string()) + description +
                       "\n");
}

REGIMEN_INLINE void refuse_rows(std::size_t rows, std::size_t batch, const Error& error, const char* cure) {
  throw Error("a shorter batch, of " + std::to_string(rows) + " in place of " + std::to_string(batch),
              "what it needs before the run begins", error.what(), cure);
}

REGIMEN_INLINE void expect_finite(const Scalars& s) {
  if (!s.anomaly.found) return;
  const std::string element = std::to_string(s.anomaly.element);
  throw Error("step " + std::to_string(s.random.step + 1) + ", " +
                  (s.anomaly.phase == op::Phase::forward ? "output" : "gradient") + " of layer " +
                  s.anomaly.path.text(),
              "finite numbers", (s.anomaly.is_nan ? "a NaN at element " : "an infinity at element ") + element,
              "this is the first layer where one appears; look at its input, its weights and the learning rate");
}

REGIMEN_INLINE std::size_t resident_bytes() {
  const std::string pages = regimen::detail::system_text("/proc/self/statm");  // all, resident, ...
  const std::string second = pages.substr(pages.find(' ') + 1);
  std::size_t resident = 0;
  std::from_chars(second.data(), second.data() + second.size(), resident);
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

REGIMEN_INLINE void write_results(const StartedSteps& steps, std::span<const Scalars> scalars, std::size_t ranks,
                                  double before, double end, std::span<StepResult> results) {
  const double milliseconds = (end - (std::max)(steps.started, before)) * 1e3;
  for (std::size_t i = 0; i < steps.count; ++i) {
    const Scalars& s = scalars[i];
    expect_finite(s);
    results[i] = StepResult{.step = steps.last - steps.count + i + 1,
                            .loss = s.loss,
                            .gradient_norm = s.gradient_norm,
                            .learning_rate = s.learning_rate,
                            .loss_scale = s.loss_scale,
                            .applied = s.apply != 0,
                            .milliseconds = milliseconds / double(steps.count),
                            .waited = steps.waited * 1e3 / double(steps.count),
                            .samples = steps.samples / steps.count * ranks,
                            .targets = whole_targets(s.count),
                            .weight = s.count};
  }
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
