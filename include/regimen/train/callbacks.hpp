// regimen/train/callbacks.hpp — the callbacks of Trainer::fit: which events they hear, and what follows if one throws.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/rule/callback_hears_launches.hpp>
#include <regimen/rule/callback_takes_event.hpp>
#include <regimen/state/trainer_state.hpp>
#include <regimen/train/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace regimen::train {

/// The results of a launch of several steps, the oldest first.
using StepResults = std::span<const StepResult>;

/// What callbacks of a Trainer hear of: each step, or each launch of several steps.
template <class Trainer>
using TrainingEvent = std::conditional_t<(Trainer::Session::steps > 1), StepResults, const StepResult&>;

/// Whether Trainer::fit ever calls a Callback. A body that takes anything is compiled for the events of this Trainer
/// alone.
template <class Trainer, class Callback>
inline constexpr bool hears_training = std::is_invocable_v<Callback&, Trainer&, TrainingEvent<Trainer>>;
template <class Trainer, class Callback>
inline constexpr bool hears_epochs = std::is_invocable_v<Callback&, Trainer&, const EpochEvent&>;
/// Among the callbacks may stand metrics; then all callbacks may hear what these find.
template <class Callback>
inline constexpr bool is_metric = requires(Callback& metric) {
  { metric.sums } -> std::same_as<std::vector<double>&>;
};
template <class Trainer, class Callback, bool measures>
inline constexpr bool hears_metrics = [] {
  if constexpr (measures) return std::is_invocable_v<Callback&, Trainer&, const Measured&>;
  else return false;
}();
template <class Trainer, class Callback, bool measures>
inline constexpr bool is_called =
    hears_training<Trainer, Callback> || std::is_invocable_v<Callback&, Trainer&, const Evaluation&> ||
    hears_epochs<Trainer, Callback> || std::is_invocable_v<Callback&, Trainer&, const Fitted&> ||
    hears_metrics<Trainer, Callback, measures>;
template <class Trainer, class Callback>
inline constexpr bool counts_launches_as_steps = [] {
  if constexpr (Trainer::Session::steps == 1 || hears_training<Trainer, Callback>) return false;
  else return std::is_invocable_v<Callback&, Trainer&, const StepResult&>;
}();
/// Says whether a metric can add the batches of a Session: include regimen/watch/metrics.hpp.
template <class Session, class M>
struct MetricRule;
template <class Trainer, class Callback, bool measures>
struct CallbackRule final {
  using type = std::conditional_t<
      counts_launches_as_steps<Trainer, Callback>,
      rule::callback_hears_launches<std::remove_reference_t<Callback>, typename Trainer::Configuration::steps,
                                    !counts_launches_as_steps<Trainer, Callback>>,
      rule::callback_takes_event<std::remove_reference_t<Callback>, is_called<Trainer, Callback, measures>>>;
};
template <class Trainer, class Callback, bool measures>
  requires is_metric<Callback>
struct CallbackRule<Trainer, Callback, measures> final {
  using type = MetricRule<typename Trainer::Session, std::remove_reference_t<Callback>>;
};
template <class Trainer, class Callback, bool measures>
using heard_callback = typename CallbackRule<Trainer, Callback, measures>::type::must_hold;
template <class Trainer, class Callback, bool measures>
inline constexpr bool may_call = CallbackRule<Trainer, Callback, measures>::type::holds;

/// No metrics.
struct Unmeasured final {};
/// The metrics among the callbacks: include regimen/watch/metrics.hpp.
template <class Session, class... Metrics>
class FitMeasurement;
template <class Session>
auto measurement_of(Session& session, auto&... callbacks) {
  const auto metric_of = [](auto& callback) {
    if constexpr (is_metric<decltype(callback)>) return std::tie(callback);
    else return std::tuple<>();
  };
  if constexpr (!(is_metric<decltype(callbacks)> || ...)) return Unmeasured{};
  else
    return std::apply(
        [&]<class... Metrics>(Metrics&... metrics) { return FitMeasurement<Session, Metrics...>(session, metrics...); },
        std::tuple_cat(metric_of(callbacks)...));
}

[[gnu::cold]] inline std::string words_of_event(const StepResult& step, std::uint64_t) {
  return "step " + std::to_string(step.step);
}
[[gnu::cold]] inline std::string words_of_event(StepResults launch, std::uint64_t) {
  return "steps " + std::to_string(launch.front().step) + " to " + std::to_string(launch.back().step);
}
[[gnu::cold]] inline std::string words_of_event(const EpochEvent& epoch, std::uint64_t) {
  return std::string(epoch.ended ? "the end" : "the beginning") + " of epoch " + std::to_string(epoch.epoch);
}
[[gnu::cold]] inline std::string words_of_event(const Evaluation&, std::uint64_t step) {
  return "the evaluation after step " + std::to_string(step);
}
[[gnu::cold]] inline std::string words_of_event(const Measured& found, std::uint64_t step) {
  return std::string("the metrics of ") + (found.evaluation ? "the evaluation" : "training") + " after step " +
         std::to_string(step);
}
[[gnu::cold]] inline std::string words_of_event(const Fitted&, std::uint64_t step) {
  return "the end of the run after step " + std::to_string(step);
}

/// Tells the event to the callbacks that hear it, in their order. False: one of them ends the run.
///
/// failure   a callback's exception, as it is; the other ranks get a PeerError that names this rank, the callback and the
///           event. A single rank may go on with its Trainer
template <class Trainer, class Event, class... Callbacks>
bool tell(Trainer& trainer, const Event& event, Callbacks&... callbacks) {
  bool goes_on = true;
  [[maybe_unused]] std::size_t number = 0;
  [[maybe_unused]] const auto tell_one = [&](auto& callback) {
    ++number;
    using Callback = decltype(callback);
    if constexpr (std::is_invocable_r_v<bool, Callback, Trainer&, const Event&>)
      goes_on = static_cast<bool>(callback(trainer, event)) && goes_on;
    else if constexpr (std::is_invocable_v<Callback, Trainer&, const Event&>) callback(trainer, event);
  };
  if constexpr (Trainer::Step::Sharding::alone) (tell_one(callbacks), ...);
  else try {
      (tell_one(callbacks), ...);
    } catch (...) {
      auto& session = Inside::session(trainer);
      if (session.ranks() > 1)
        session.give_up("callback " + std::to_string(number) + " of fit, told of " +
                        words_of_event(event, session.steps_done) + ": " +
                        regimen::detail::words_of(std::current_exception()));
      throw;
    }
  return goes_on;
}

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
