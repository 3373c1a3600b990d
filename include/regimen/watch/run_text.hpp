// regimen/watch/run_text.hpp — the facts of a run, to run it again, as text.
#pragma once

#include <regimen/core/refused.hpp>
#include <regimen/saves/patience.hpp>
#include <regimen/saves/trainer_state.hpp>
#include <regimen/trainers/fingerprint.hpp>
#include <regimen/trainers/options.hpp>
#include <regimen/version.hpp>
#include <regimen/watch/text.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace regimen {

namespace detail {
/// The program and its arguments, as the system has them; each in one line.
std::string command_line();
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

[[gnu::cold]] std::string text_of_schedule(const Schedule& schedule);
/// Calls f(name, value) for each option of the Trainer that decides how it learns: the schedule, and the options of the
/// update rule.
template <class UpdateRule>
[[gnu::cold]] void for_options(const Options<UpdateRule>& options, const auto& f) {
  const auto schedule_line = [&](const std::string& name, const Schedule& schedule) {
    f(name, text_of_schedule(schedule));
  };
  schedule_line("schedule", options.schedule);
  f("optimizer.learning_rate", text_of(options.optimizer.learning_rate));
  using Groups = programs::GroupsOf<UpdateRule>;
  [&]<std::size_t... group>(std::index_sequence<group...>) {
    const auto add = [&]<std::size_t index>(std::integral_constant<std::size_t, index>) {
      using Rule = programs::rule_of<UpdateRule, index>;
      const typename Rule::Options& own = Groups::template options<index>(options.optimizer);
      std::string name = "optimizer.";
      if constexpr (Groups::count > 1) {
        const std::string own_name = names_of_groups[index + 1 == Groups::count ? 3 : index];
        name += own_name + ".";
        f(name + "learning_rate", text_of(own.learning_rate));
        if (const auto& schedule = Groups::template schedule<index>(options.optimizer))
          schedule_line("optimizer.schedules." + own_name, *schedule);
      }
      const auto tell = [&](const char* option, auto value) {
        if constexpr (std::is_same_v<decltype(value), bool>) f(name + option, std::string(value ? "true" : "false"));
        else f(name + option, text_of(static_cast<double>(value)));
      };
      if constexpr (requires { Rule::list(own, tell); }) Rule::list(own, tell);
    };
    (add(std::integral_constant<std::size_t, group>{}), ...);
  }(std::make_index_sequence<Groups::count>{});
}
[[gnu::cold]] std::string text_of_fit(const FitOptions& run);
}  // namespace detail

/// One line for each of these: the command, the library's version, the recipe, compiler, arithmetic, ranks, seed,
/// threads, the options of the Trainer, of the update rule and of fit (its last call, if there was one), a hash of
/// recipe, rule, seed, learning rate and schedule (the same on all ranks, since a Trainer refuses others); then the
/// plan.
///
/// A header-only library cannot know the commit of the program that includes it: give it in `note`, together with
/// anything else that decides the data. A rule of your own has its options here if it has list(options, f), as
/// policy/optimizer.hpp describes.
///   begun   the steps before this run; without it the text has no begin
template <class Trainer>
std::string run_text(Trainer& trainer, const std::string& note = {}, std::uint64_t begun = saves::never) {
  auto& session = saves::Inside::session(trainer);
  using Session = typename Trainer::Session;
  const auto& options = trainer.options();
  std::string text;
  const auto line = [&](const std::string& key, const std::string& value) { text += key + ": " + value + "\n"; };
  if (!note.empty()) line("note", note);
  line("command", detail::command_line());
  line("regimen", library_version);
  line("recipe", detail::type_name<Trainer>());
  line("compiler", __VERSION__);
  line("arithmetic", saves::StateAccess<Session>::path_text());
  line("ranks", std::to_string(trainer.ranks()));
  line("seed", std::to_string(trainer.seed()));
  line("threads", std::to_string(options.threads));
  line("compare_weights_every", std::to_string(options.compare_weights_every));
  if (begun != saves::never) line("begun at step", std::to_string(begun));
  detail::for_options(options, line);
  if (session.fit.run.steps != 0 || session.fit.run.epochs != 0) line("fit", detail::text_of_fit(session.fit.run));
  line("hash", std::to_string(trainers::fingerprint_of<Session>(session.options, session.seed)));
  return text + "\n" + trainer.planned().table();
}
template <detail::Refused Trainer>
std::string run_text(Trainer&, const std::string& = {}, std::uint64_t = saves::never) {
  return {};
}

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/watch/run_text.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
