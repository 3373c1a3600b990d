// regimen/trainers/fit.hpp — Trainer::fit: a program's data, steps and callbacks for the loop (trainers/fit_loop.hpp).
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/saves/trainer_state.hpp>
#include <regimen/trainers/callback_rules.hpp>
#include <regimen/trainers/evaluation.hpp>
#include <regimen/trainers/feed.hpp>
#include <regimen/trainers/fingerprint.hpp>
#include <regimen/trainers/fit_loop.hpp>
#include <regimen/trainers/launches.hpp>
#include <regimen/trainers/options.hpp>
#include <regimen/trainers/result.hpp>
#include <regimen/trainers/session.hpp>
#include <regimen/trainers/weights_and_state.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::trainers {

/// A hash of the number of samples, and of the first, the middle and the last sample. Error if there is none.
template <class Input, class Label, class Source>
[[gnu::cold]] std::uint64_t fingerprint_of_source(const Source& source, const SampleShape& shape) {
  const std::size_t size = source.size(shape);
  if (size == 0) throw Error(regimen::detail::name_of_source(source), "at least one sample", "none");
  std::vector<Input> input(shape.input);
  std::vector<Label> target(shape.target);
  std::uint64_t print = size;
  for (const std::size_t index : {std::size_t{0}, size / 2, size - 1}) {
    regimen::detail::read_sample(source, {.index = index}, Sample<Input, Label>{input, target});
    for (const auto& value : input) print = Philox::mix(print, bits_of_number(value));
    for (const auto& value : target) print = Philox::mix(print, bits_of_number(value));
  }
  return print;
}
template <class Trainer, class Source>
[[gnu::cold]] std::uint64_t fingerprint_of_source(const Source& source) {
  return fingerprint_of_source<typename Trainer::Input, typename Trainer::Label>(source, Trainer::sample_shape());
}
/// Throws Error if the source cannot serve a model, or its first or last sample cannot be read.
template <class Input, class Label, class Source>
[[gnu::cold]] void expect_readable(const Source& source, const SampleShape& shape) {
  LoaderOptions options{.order = Order::Sequential, .workers = 0};
  for (const bool last : {false, true}) {
    Loader<Input, Label, SourceReference<Source>> loader({&source}, shape, options);
    if (last || loader.size() > 1) loader.next();
    options.first.samples = loader.size() - 1;
  }
}
/// The metrics of a run that has none.
struct NoMetrics final {};
/// The metrics among the callbacks: include regimen/watch/metrics.hpp.
template <class Session, class... Metrics>
class FitMeasurement;
template <class Session>
auto measurement_of(Session& session, auto&... callbacks) {
  const auto metric_of = [](auto& callback) {
    if constexpr (is_metric<decltype(callback)>) return std::tie(callback);
    else return std::tuple<>();
  };
  if constexpr (!(is_metric<decltype(callbacks)> || ...)) return NoMetrics{};
  else
    return std::apply(
        [&]<class... Metrics>(Metrics&... metrics) { return FitMeasurement<Session, Metrics...>(session, metrics...); },
        std::tuple_cat(metric_of(callbacks)...));
}

/// An event in an error.   step   the last one that has ended
template <class Event>
[[gnu::cold]] std::string words_of_event([[maybe_unused]] const Event& event, [[maybe_unused]] std::uint64_t step) {
  [[maybe_unused]] const std::string after = " after step " + std::to_string(step);
  if constexpr (std::is_same_v<Event, StepResult>) return "step " + std::to_string(event.step);
  else if constexpr (std::is_same_v<Event, StepResults>)
    return "steps " + std::to_string(event.front().step) + " to " + std::to_string(event.back().step);
  else if constexpr (std::is_same_v<Event, EpochEvent>)
    return std::string(event.ended ? "the end" : "the beginning") + " of epoch " + std::to_string(event.epoch);
  else if constexpr (std::is_same_v<Event, Evaluation>) return "the evaluation" + after;
  else if constexpr (std::is_same_v<Event, Measured>)
    return std::string("the metrics of ") + (event.evaluation ? "the evaluation" : "training") + after;
  else return "the end of the run" + after;
}

/// Gives the event to the callbacks that take it, in their order. False: one of them ends the run.
///
/// failure   a callback's exception, as it is; the other ranks get a PeerError that names this rank, the callback and
///           the event. A single rank may continue to use its Trainer
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

/// The evaluation of fit: of the weights, or of their averages.
template <class Trainer, class Validation, class Measurement = NoMetrics>
Evaluation evaluate_in_fit(Trainer& trainer, const Validation& validation, const FitOptions& run,
                           Measurement&& measured = {}) {
  const auto evaluate = [&] {
    if constexpr (std::is_same_v<std::remove_cvref_t<Measurement>, NoMetrics>)
      return trainer.evaluate(validation, run.workers);
    else
      return measured.evaluate([&](const auto& program) {
        return trainers::evaluate(saves::Inside::session(trainer), validation, run.workers, program);
      });
  };
  using Session = typename Trainer::Session;
  if constexpr (programs::keeps_averages<typename Session::UpdateRule>) {
    Session& session = saves::Inside::session(trainer);
    if (run.validate_average && session.scalars().updates > 0) {
      Evaluation found;
      Average<Session>::with(session, "Trainer::fit", [&] { found = evaluate(); });
      return found;
    }
  }
  return evaluate();
}

/// Tells a Trainer's callbacks of an event. (std::apply on a tuple of them costs six functions for each event.)
template <class Trainer, class... Callbacks>
auto teller([[maybe_unused]] Trainer& trainer, Callbacks&... callbacks) {
  if constexpr (sizeof...(Callbacks) == 0) return [](const auto&) { return true; };
  else return [&](const auto& event) { return trainers::tell(trainer, event, callbacks...); };
}

/// A Trainer with a source, perhaps a validation source, and callbacks, as the loop of fit sees them.
template <class Trainer, class Source, class Validation, class... Callbacks>
class FitOf final : public FitProgram {
  using Session = typename Trainer::Session;
  using Step = typename Trainer::Step;
  using Launch = typename Session::Launch;
  static constexpr bool measures = (is_metric<Callbacks> || ...);

 public:
  /// `validation` may be null.
  FitOf(Trainer& trainer, const Source& source, const Validation* validation, Callbacks&... callbacks)
      : trainer_(trainer),
        session_(saves::Inside::session(trainer)),
        source_(source),
        validation_(validation),
        tell_callbacks_(teller(trainer, callbacks...)),
        measured_(measurement_of(session_, callbacks...)),
        loader_({&source}, Trainer::sample_shape(), loader_options(session_, session_.fit.run),
                session_.feed.memory()) {
    if constexpr (!Step::Sharding::alone)
      if (session_.ranks() > 1) agree();
    if (!session_.is_between_steps()) out_of_order(session_.waiting, "step");
    if constexpr (Preparation<Session>::prepares)
      session_.guarded([&] {
        Preparation<Session>::run(session_, loader_.batching(), micro_batches());
        if (validation != nullptr)
          Preparation<Session>::evaluation_of(session_, validation->size(Trainer::sample_shape()));
      });
    if (session_.rank() == 0)
      say_if_short(session_.ranks(), Trainer::batch, Trainer::micro_batches, loader_.size(), session_.fit.run);
  }

  Fitted run() {
    FitMetrics* metrics = nullptr;
    if constexpr (measures) metrics = &measured_;
    const FitFacts facts{.options = session_.fit.run,
                         .rank = session_.rank(),
                         .micro_batches = Trainer::micro_batches,
                         .targets = Trainer::target_size,
                         .validates = validation_ != nullptr,
                         .hears_epochs = measures || (hears_epochs<Trainer, Callbacks> || ...),
                         .has_callbacks = sizeof...(Callbacks) > 0,
                         // No step may follow an anomaly.
                         .reads_late = sizeof...(Callbacks) == 0 && !Trainer::Recipe::checks_finite,
                         .moves_scale = Trainer::Recipe::loss_scaling.growth_interval > 0,
                         .divisor_of = [](double count) { return Step::divisor_of(count); }};
    return FitLoop(facts, *this, metrics, loader_, session_.position.steps_done, session_.position.patience).run();
  }

  void start(std::uint64_t most, bool in_one_epoch) override {
    Launch& started = start_steps(most, in_one_epoch);
    session_.position.place = loader_.place();
    (oldest_ == nullptr ? oldest_ : newest_) = &started;
  }
  StepResults finish() override {
    StepResults results;
    session_.guarded([&] { results = session_.finish(*std::exchange(oldest_, std::exchange(newest_, nullptr))); });
    return results;
  }
  Evaluation evaluate() override { return evaluate_in_fit(trainer_, *validation_, session_.fit.run, measured_); }
  bool on_all_ranks(bool own) override { return trainer_.on_all_ranks(own); }
  bool tell(StepResults steps) override {
    if constexpr (Session::steps > 1) return tell_callbacks_(steps);
    else return tell_callbacks_(steps.front());
  }
  bool tell(const EpochEvent& epoch) override { return tell_callbacks_(epoch); }
  bool tell(const Evaluation& evaluation) override { return tell_callbacks_(evaluation); }
  bool tell(const Measured& found) override {
    if constexpr (measures) return tell_callbacks_(found);
    else return true;
  }
  bool tell(const Fitted& fitted) override { return tell_callbacks_(fitted); }
  std::string name() const override { return regimen::detail::name_of_source(source_); }
  void timings(std::vector<data::Timing>& all) const override { all = data::timings(source_); }

 private:
  void agree() {
    std::uint64_t how = fingerprint_of_run(session_.fit.run);
    if constexpr (measures) how = Philox::mix(how, measured_.fingerprint());
    comm::agree(session_.control(), "Trainer::fit", "run", how);
    comm::agree(session_.control(), "Trainer::fit", "data", fingerprint_of_source<Trainer>(source_));
    if (validation_ != nullptr)
      comm::agree(session_.control(), "Trainer::fit", "validation data", fingerprint_of_source<Trainer>(*validation_));
    comm::agree(session_.control(), "Trainer::fit", "step", session_.position.steps_done);
  }
  /// Up to the run's last step; `never` if epochs end it.
  std::uint64_t micro_batches() const {
    std::uint64_t count = 0;
    const std::uint64_t last = session_.fit.run.steps != 0 ? session_.fit.run.steps : saves::never;
    if (session_.position.steps_done >= last) return 0;
    return __builtin_mul_overflow(last - session_.position.steps_done, Trainer::micro_batches, &count) ? saves::never
                                                                                                       : count;
  }
  /// Whether the next launch has full batches, and, if epochs matter, steps of one epoch; the same on all ranks.
  bool can_launch(bool in_one_epoch) const {
    constexpr std::size_t micro_batches = Session::steps * Trainer::micro_batches;
    if (loader_.steps() - loader_.step() < micro_batches) return false;
    const std::uint64_t last = loader_.step() + micro_batches - Trainer::micro_batches;
    if (in_one_epoch && loader_.batching().place(last).epoch != loader_.place().epoch) return false;
    for (std::uint64_t m = 0; m < micro_batches; ++m)
      if (!loader_.is_full(loader_.step() + m)) return false;
    return true;
  }
  Launch& start_steps([[maybe_unused]] std::uint64_t most, [[maybe_unused]] bool in_one_epoch) {
    [[maybe_unused]] decltype(loader_.next()) last{};
    const auto give = [&](std::size_t micro_batch, std::size_t ahead) {
      session_.feed.wait();  // next() gives the previous batch back to the loader
      session_.walk.all_are_whole = loader_.step() < loader_.steps() && loader_.is_full(loader_.step());
      const double before = loader_.waited();
      const auto next = loader_.next();
      session_.launches.waited += loader_.waited() - before;
      typename Session::Batch batch{.inputs = next.input, .targets = next.target, .samples = next.samples};
      batch.number = micro_batch;
      batch.ahead = ahead;
      session_.feed.give(session_, batch);
      if constexpr (measures) last = next;
      return next.samples;
    };
    if constexpr (Session::steps > 1 && !measures)
      if (most >= Session::steps && can_launch(in_one_epoch)) return session_.start_launch(give);
    const auto load = [&](std::size_t micro_batch) { return give(micro_batch, 0); };
    if constexpr (measures) return session_.start_step(load, [&](std::size_t output) { measured_.see(output, last); });
    else return session_.start_step(load);
  }

  Trainer& trainer_;
  Session& session_;
  const Source& source_;
  const Validation* const validation_;
  decltype(teller(std::declval<Trainer&>(), std::declval<Callbacks&>()...)) tell_callbacks_;
  decltype(measurement_of(std::declval<Session&>(), std::declval<Callbacks&>()...)) measured_;
  Loader<typename Trainer::Input, typename Trainer::Label, SourceReference<Source>> loader_;
  Launch *oldest_ = nullptr, *newest_ = nullptr;  // that run
};

/// Trainer::fit. `validation` may be null.
template <class Trainer, class Source, class Validation, class... Callbacks>
Fitted fit(Trainer& trainer, const Source& source, const Validation* validation, const FitOptions& run,
           Callbacks&... callbacks) {
  auto& session = saves::Inside::session(trainer);
  check_run(run, validation != nullptr, programs::keeps_averages<typename Trainer::UpdateRule>);
  const auto inside = enter_trainer(session.one, "Trainer::fit");
  session.expect_no_fit("Trainer::fit");
  session.fit = {run, true};
  session.launches.waited = 0;
  session.position.by_hand = 0;
  session.position.batching = {};  // the loader knows the place
  const struct AtTheEnd {
    bool& is_running;
    ~AtTheEnd() { is_running = false; }
  } at_the_end{session.fit.is_running};
  session.guarded([&] {  // finds unreadable data now, not after hours
    constexpr SampleShape shape = Trainer::sample_shape();
    (void)source.size(shape);
    if (validation != nullptr) expect_readable<typename Trainer::Input, typename Trainer::Label>(*validation, shape);
  });
  return FitOf<Trainer, Source, Validation, Callbacks...>(trainer, source, validation, callbacks...).run();
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
