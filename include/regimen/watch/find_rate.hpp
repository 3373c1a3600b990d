// regimen/watch/find_rate.hpp — the losses of a short run whose learning rate grows.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/refused.hpp>
#include <regimen/programs/groups.hpp>
#include <regimen/saves/trainer_state.hpp>
#include <regimen/trainers/options.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/trainers/session.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

namespace regimen {

/// The result of find_rate: one entry for each step.
struct RateSweep final {
  std::vector<double> rates, losses;

  /// The losses, each averaged with the losses before it: the newest has the weight 1 - share, and the weights fall by
  /// the factor share from step to step. A loss that is not finite (NaN: a step without valid targets) stays unchanged,
  /// and is in no average.
  std::vector<double> smoothed(double share = 0.8) const;
  /// The rate at which the smoothed loss, as a function of the rate's logarithm, falls fastest; NaN if it never falls.
  double steepest() const;
};

///   from, to   the learning rate grows from step to step by the same factor, in place of
///              options.optimizer.learning_rate and the schedule; for a Split it multiplies the rates of the groups
///   steps      of the sweep; it ends earlier if a loss is not finite, or above `stop` times the least loss
///   run        order, remainder and workers of the data; its steps and epochs are not read
struct RateOptions final {
  double from = 1e-7, to = 10;
  std::uint64_t steps = 100;
  double stop = 4;
  FitOptions run{};
};

namespace trainers {

/// Throws Error for options outside their range.
[[gnu::cold]] void expect_sweep(const RateOptions& options, bool has_schedules);

/// Keeps everything of a Session that steps change, on the host, and puts it back.
template <class Session>
class SessionCopy final {
 public:
  explicit SessionCopy(Session& session)
      : session_(session),
        kept_(session.resident.end),
        numbers_(session.options, session.position, session.memory.library) {
    session.walk.engine.download(0, std::span(kept_)).wait();
    host_weights_.swap(session.host.weights);
  }
  SessionCopy(const SessionCopy&) = delete;
  SessionCopy& operator=(const SessionCopy&) = delete;
  ~SessionCopy() {
    try {
      session_.abandon();
      session_.walk.engine.upload(0, std::span<const std::byte>(kept_)).wait();
    } catch (const Error&) {  // of a lost device; the first error says why
    }
    // The library's bytes are measured at the first step; this copy is in them.
    std::tie(session_.options, session_.position, session_.memory.library) = numbers_;
    session_.host.weights.swap(host_weights_);  // what a program has read of parameters() before stays its own
  }

 private:
  Session& session_;
  std::vector<std::byte> kept_;
  std::vector<typename Session::Master> host_weights_;
  std::tuple<decltype(Session::options), Position, std::size_t> numbers_;
};

}  // namespace trainers

/// A range test of the learning rate: trains for some steps with a rate that grows exponentially, then restores the
/// Trainer bit for bit: weights, optimizer state, place in the data, step, loss scale. All ranks call it.
///
///   const RateSweep sweep = find_rate(trainer, data);
///   std::printf("%g\n", sweep.steepest());     // a good learning rate is there, or up to ten times below
///
/// memory   a copy of the persistent part of the arena, on the host, outside the plan
/// failure  Error for a rate or a number of steps outside its range, or a group with its own schedule; after an Error
///          of a step the Trainer is restored. Not in a callback of fit
/// source   Smith 2017 (arXiv 1506.01186), section 3.3
template <class Trainer, class Source>
RateSweep find_rate(Trainer& trainer, const Source& source, const RateOptions& options = {}) {
  trainers::expect_sweep(options,
                         programs::GroupsOf<typename Trainer::UpdateRule>::has_schedules(trainer.options().optimizer));
  auto& session = saves::Inside::session(trainer);
  using Session = typename Trainer::Session;
  const auto inside = session.enter("find_rate");
  session.expect_no_fit("find_rate");
  saves::StateAccess<Session>::expect_finished_step(session, "find_rate");
  saves::StateAccess<Session>::finish_saving(session);
  [[maybe_unused]] const auto scope = session.walk.engine.scope();
  const trainers::SessionCopy<Session> untouched(session);
  session.position.steps_done = 0;
  session.options.optimizer.learning_rate = options.from;
  session.options.schedule = Schedule::steps(1, std::pow(options.to / options.from, 1 / (double(options.steps) - 1)));
  FitOptions run = options.run;
  run.steps = options.steps;
  run.epochs = run.validate_every = run.patience = 0;
  run.validate_average = run.progress = false;
  RateSweep sweep;
  double least = std::numeric_limits<double>::infinity();
  const auto hear = [&](const StepResult& step) {
    sweep.rates.push_back(step.learning_rate);
    sweep.losses.push_back(step.loss);
    if (step.loss < least) least = step.loss;
    return step.weight == 0 || (is_finite(step.loss) && !(step.loss > 0 && step.loss > options.stop * least));
  };
  if constexpr (Session::steps > 1) {
    trainer.fit(source, run, [&](Trainer&, std::span<const StepResult> launch) {
      bool goes_on = true;
      for (const StepResult& step : launch) goes_on = goes_on && hear(step);
      return goes_on;
    });
  } else {
    trainer.fit(source, run, [&](Trainer&, const StepResult& step) { return hear(step); });
  }
  return sweep;
}
template <detail::Refused Trainer, class Source>
RateSweep find_rate(Trainer&, const Source&, const RateOptions& = {}) {
  return {};
}

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/watch/find_rate.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
