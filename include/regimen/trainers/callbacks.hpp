// regimen/trainers/callbacks.hpp — the callbacks of Trainer::fit: their events, and the end if one throws.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/saves/trainer_state.hpp>
#include <regimen/trainers/callback_rules.hpp>
#include <regimen/trainers/result.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <tuple>
#include <type_traits>

namespace regimen::trainers {

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

/// Gives the event to the callbacks that take it, in their order. False: one of them ends the run.
///
/// failure   a callback's exception, as it is; the other ranks get a PeerError that names this rank, the callback and the
///           event. A single rank may continue to use its Trainer
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
