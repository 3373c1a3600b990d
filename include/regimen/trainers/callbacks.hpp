// regimen/trainers/callbacks.hpp — the callbacks of Trainer::fit: which events they hear, and what follows if one throws.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/rule/fit.hpp>
#include <regimen/rule/metrics.hpp>
#include <regimen/saves/trainer_state.hpp>
#include <regimen/trainers/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace regimen::trainers {

/// What callbacks of a Trainer hear of: each step, or each launch of several steps.
template <class Trainer>
using TrainingEvent = std::conditional_t<(Trainer::Session::steps > 1), StepResults, const StepResult&>;

/// Whether Trainer::fit ever calls a Callback. A body that takes anything is compiled for the events of this Trainer
/// alone.
template <class Trainer, class Callback>
inline constexpr bool hears_training = std::is_invocable_v<Callback&, Trainer&, TrainingEvent<Trainer>>;
template <class Trainer, class Callback>
inline constexpr bool hears_epochs = std::is_invocable_v<Callback&, Trainer&, const EpochEvent&>;
template <class Metric>
inline constexpr bool has_sums = requires(Metric& metric) {
  { metric.sums } -> std::same_as<std::vector<double>&>;
};
/// Among the callbacks may stand metrics; then all callbacks may hear what these find. A const one is refused as a metric.
template <class Callback>
inline constexpr bool is_metric = has_sums<std::remove_const_t<std::remove_reference_t<Callback>>>;
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
template <class Trainer, class Callback, bool measures>
inline constexpr bool misses_metrics = [] {
  if constexpr (measures || is_called<Trainer, Callback, measures>) return false;
  else return std::is_invocable_v<Callback&, Trainer&, const Measured&>;
}();
template <class Trainer, class Callback>
inline constexpr bool counts_launches_as_steps = [] {
  if constexpr (Trainer::Session::steps == 1 || hears_training<Trainer, Callback>) return false;
  else return std::is_invocable_v<Callback&, Trainer&, const StepResult&>;
}();
/// Says whether a metric can add the batches of a Session: include regimen/watch/metrics.hpp.
template <class Session, class M>
struct MetricRule;
/// The first rule that what fit or evaluate was given as a metric breaks, or the last.
///   Given   M, if it is a temporary; else M&
template <class Session, class Given, bool is_of_fit>
constexpr auto rule_of_metric() {
  using M = std::remove_reference_t<Given>;
  if constexpr (is_metric<M> && !has_sums<M>) return rule::metric_is_written<M, false>();
  else if constexpr (!requires { sizeof(MetricRule<Session, M>); }) return rule::metrics_are_included<M, false>();
  else if constexpr (!MetricRule<Session, M>::holds) return MetricRule<Session, M>();
  else if constexpr (is_of_fit) return rule::metric_is_copied<M, std::is_copy_constructible_v<M>>();
  else return rule::metric_keeps_result<M, std::is_lvalue_reference_v<Given>>();
}
template <class Session, class Given, bool is_of_fit = false>
using RuleOfMetric = decltype(rule_of_metric<Session, Given, is_of_fit>());
template <class Trainer, class Callback, bool measures>
struct CallbackRule final {
  using type = std::conditional_t<
      counts_launches_as_steps<Trainer, Callback>,
      rule::callback_hears_launches<std::remove_reference_t<Callback>, typename Trainer::Configuration::steps,
                                    !counts_launches_as_steps<Trainer, Callback>>,
      std::conditional_t<
          misses_metrics<Trainer, Callback, measures>,
          rule::measured_needs_metric<std::remove_reference_t<Callback>, !misses_metrics<Trainer, Callback, measures>>,
          rule::callback_takes_event<std::remove_reference_t<Callback>, is_called<Trainer, Callback, measures>>>>;
};
template <class Trainer, class Callback, bool measures>
  requires is_metric<Callback>
struct CallbackRule<Trainer, Callback, measures> final {
  using type = RuleOfMetric<typename Trainer::Session, Callback, true>;
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

[[gnu::cold]] std::string words_of_event(const StepResult& step, std::uint64_t);
[[gnu::cold]] std::string words_of_event(StepResults launch, std::uint64_t);
[[gnu::cold]] std::string words_of_event(const EpochEvent& epoch, std::uint64_t);
[[gnu::cold]] std::string words_of_event(const Evaluation&, std::uint64_t step);
[[gnu::cold]] std::string words_of_event(const Measured& found, std::uint64_t step);
[[gnu::cold]] std::string words_of_event(const Fitted&, std::uint64_t step);

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
      auto& session = saves::Inside::session(trainer);
      if (session.ranks() > 1)
        session.give_up("callback " + std::to_string(number) + " of fit, told of " +
                        words_of_event(event, session.position.steps_done) + ": " +
                        regimen::detail::words_of(std::current_exception()));
      throw;
    }
  return goes_on;
}

}  // namespace regimen::trainers

#if !REGIMEN_COMPILED
#include <regimen/trainers/callbacks.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
