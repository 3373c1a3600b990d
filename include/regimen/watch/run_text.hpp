// regimen/watch/run_text.hpp — what a rerun needs to know of a run, as text.
#pragma once

#include <regimen/state/patience.hpp>
#include <regimen/state/trainer_state.hpp>
#include <regimen/train/fingerprint.hpp>
#include <regimen/train/options.hpp>
#include <regimen/watch/text.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace regimen {

namespace detail {
/// The program and its arguments, as the system has them; each in one line.
inline std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& letter : text)
    if (letter == '\0' || letter == '\n') letter = ' ';
  return text;
}
/// The name of a type as this compiler writes it.
template <class T>
std::string type_name() {
  const std::string_view whole = __PRETTY_FUNCTION__;
  const std::size_t begin = whole.find("T = ");
  if (begin == std::string_view::npos) return std::string(whole);
  std::string_view name = whole.substr(begin + 4);
  name = name.substr(0, name.rfind(']'));
  return std::string(name.substr(0, name.find("; ")));  // g++ goes on with its aliases
}
}  // namespace detail

/// One line for each: the command, the recipe, compiler, arithmetic, ranks, seed, learning rate, schedule, a hash of
/// recipe, rule, seed, learning rate and schedule (of several ranks equal on all, or the Trainer had refused them); then
/// the plan.
///
/// The options of fit and of the update rule are the program's, and stand in its source: note its version in `note`.
///   begun   the steps before this run; without: where it began is left out
template <class Trainer>
std::string run_text(Trainer& trainer, const std::string& note = {}, std::uint64_t begun = train::never) {
  auto& session = train::Inside::session(trainer);
  using Session = typename Trainer::Session;
  const auto& options = trainer.options();
  const Schedule& schedule = options.schedule;
  constexpr const char* shapes[] = {"constant", "cosine", "linear", "stable", "stairs"};
  std::string text;
  const auto line = [&](const char* key, const std::string& value) { text += std::string(key) + ": " + value + "\n"; };
  if (!note.empty()) line("note", note);
  line("command", detail::command_line());
  line("recipe", detail::type_name<Trainer>());
  line("compiler", __VERSION__);
  line("arithmetic", train::StateAccess<Session>::path_text());
  line("ranks", std::to_string(trainer.ranks()));
  line("seed", std::to_string(trainer.seed()));
  if (begun != train::never) line("begun at step", std::to_string(begun));
  line("learning rate", detail::text_of(options.optimizer.learning_rate));
  line("schedule", std::string(shapes[static_cast<int>(schedule.shape)]) + " warmup " +
                       std::to_string(schedule.warmup) + " decay_from " + std::to_string(schedule.decay_from) +
                       " end " + std::to_string(schedule.end) + " floor " + detail::text_of(schedule.floor));
  line("hash", std::to_string(train::fingerprint_of<Session>(session.options, session.seed)));
  return text + "\n" + trainer.planned().table();
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
