// regimen/train/fit.hpp — the loop of Trainer::fit: batches, steps, evaluations, callbacks, the end.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/core/say.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/state/trainer_state.hpp>
#include <regimen/train/average.hpp>
#include <regimen/train/callbacks.hpp>
#include <regimen/train/expect.hpp>
#include <regimen/train/fingerprint.hpp>
#include <regimen/train/input_meter.hpp>
#include <regimen/train/options.hpp>
#include <regimen/train/progress.hpp>
#include <regimen/train/result.hpp>
#include <regimen/train/session.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace regimen::train {

/// A reference to the program's source: a Loader holds its source by value, and copies may be large.
template <class Source>
struct Borrowed final {
  const Source* source;

  std::size_t size(const SampleShape& shape) const { return source->size(shape); }
  /// By index, by key, or by keys, as the source has it.
  template <class Which, class In, class Label>
    requires requires(const Source& s, const Which& which, Sample<In, Label> sample) { s.read(which, sample); }
  void read(const Which& which, Sample<In, Label> sample) const {
    source->read(which, sample);
  }
  std::string name() const { return detail::name_of_source(*source); }
};

/// The epoch that fit is in, and what its steps add up to.
struct EpochCount final {
  EpochEvent event{};
  bool is_open = false;
  double loss_sum = 0, weight = 0, divisor = 0, began = 0;

  const EpochEvent& begin(std::uint64_t epoch, std::uint64_t step) {
    *this = EpochCount{};
    event.epoch = epoch;
    event.step = step;
    is_open = true;
    began = now();
    return event;
  }
  /// of    divides the sum of the losses of the step's valid targets; `all`: of those of the epoch so far and these
  void add(const StepResult& result, double of, double all) {
    ++event.steps;
    event.targets += result.targets;
    weight += result.weight;
    if (result.weight > 0) loss_sum += result.loss * of;
    divisor = all;
  }
  const EpochEvent& end(std::uint64_t step) {
    event.step = step;
    event.ended = true;
    event.loss = mean_of(loss_sum, divisor);
    event.seconds = now() - began;
    is_open = false;
    return event;
  }
};
/// Throws Error when options of fit contradict each other, or the program.
inline void check_run(const FitOptions& run, bool has_validation, bool has_averages) {
  if (run.steps == 0 && run.epochs == 0)
    throw Error("Trainer::fit", "steps or epochs that end the run", "neither", "write fit(source, {.steps = 1000})");
  if (!has_validation && (run.validate_every != 0 || run.patience != 0))
    throw Error("Trainer::fit",
                std::string("validation data for ") + (run.validate_every != 0 ? "validate_every" : "patience"), "none",
                "write fit(source, validation, {...}), or leave the option out");
  if (run.validate_average && !has_validation)
    throw Error("Trainer::fit", "validation data for validate_average", "none",
                "write fit(source, validation, {...}), or leave the option out");
  if (run.validate_average && !has_averages)
    throw Error("Trainer::fit, validate_average", "a rule that keeps averages of the weights", "none",
                "write Optimizer<Averaged<...>>, or leave the option out");
}
/// Of the micro-batches from the session's place on.
template <class Session>
LoaderOptions loader_options(const Session& session, const FitOptions& run) {
  return {Session::batch, run.order,      run.remainder, mix(session.seed, 0xDA7A),
          session.place,  run.epochs,     run.workers,   run.ahead,
          session.rank(), session.ranks()};
}
/// Warns if an epoch is smaller than a batch or a step: then the batches differ from those that the program names.
[[gnu::cold]] inline void say_if_short(std::size_t ranks, std::size_t own_batch, std::size_t micro_batches,
                                       std::size_t size, const FitOptions& run) {
  const std::size_t batch = own_batch * ranks, step = batch * micro_batches;
  if (size >= step || run.order == Order::Random || run.remainder == Remainder::Wrap) return;
  const auto text = [](std::size_t number) { return std::to_string(number); };
  regimen::detail::say("regimen: an epoch has " + regimen::detail::counted(size, "sample") + ", fewer than the " +
                       text(step) + " of a step (" + text(micro_batches) + " x Batch<" + text(own_batch) + "> x " +
                       regimen::detail::counted(ranks, "rank") + "): " +
                       (size < batch ? "every batch is " + (size == 1 ? "that one" : "those " + text(size)) +
                                           "; Remainder::Wrap fills batches across epochs\n"
                                     : "a step sees samples of more than one epoch\n"));
}

/// The loop of fit. Callbacks receive the Trainer; the loop itself works on its Session.
template <class Trainer>
struct FitLoop final {
  using Session = typename Trainer::Session;

  /// `validation` may be null.
  template <class Source, class Validation, class... Callbacks>
  static Fitted run(Trainer& trainer, const Source& source, const Validation* validation, const FitOptions& run,
                    Callbacks&... callbacks) {
    check_run(run, validation != nullptr, keeps_averages<typename Session::UpdateRule>);
    Session& session = Inside::session(trainer);
    const auto inside = session.enter("Trainer::fit");
    session.expect_no_fit("Trainer::fit");
    const Running running(session);
    session.run = run;
    Patience& patience = session.patience;
    session.guarded([&] {  // finds unreadable data now, not after hours
      (void)source.size(Trainer::sample_shape());
      if (validation != nullptr) ask(*validation);
    });
    [[maybe_unused]] auto measured = measurement_of(session, callbacks...);
    constexpr bool measures = !std::is_same_v<decltype(measured), Unmeasured>;
    session.batches_by_hand = 0;
    session.batching = {};  // the loader knows the place
    Loader<typename Trainer::Input, typename Trainer::Label, Borrowed<Source>> loader(
        {&source}, Trainer::sample_shape(), loader_options(session, run), session.batch_memory());
    if constexpr (!Trainer::Step::Sharding::alone) {
      if (session.ranks() > 1) {
        std::uint64_t how = mix(mix(run.steps, run.epochs),
                                mix(mix(run.validate_every, run.patience),
                                    mix(static_cast<std::uint64_t>(run.order),
                                        2 * static_cast<std::uint64_t>(run.remainder) + run.validate_average)));
        if constexpr (measures) how = mix(how, measured.fingerprint());
        comm::agree(session.control(), "Trainer::fit", "run", how);
        comm::agree(session.control(), "Trainer::fit", "data", fingerprint_of_source(source));
        if (validation != nullptr)
          comm::agree(session.control(), "Trainer::fit", "validation data", fingerprint_of_source(*validation));
        comm::agree(session.control(), "Trainer::fit", "step", session.steps_done);
      }
    }
    const std::uint64_t last = run.steps != 0 ? run.steps : never;
    if (!session.is_between_steps()) out_of_order(session.waiting, "step");
    session.guarded([&] {
      session.preparation.run(session, loader.batching(), micro_batches_until(session, last));
      if (validation != nullptr) session.preparation.evaluation_of(session, validation->size(Trainer::sample_shape()));
    });
    if (session.rank() == 0) say_if_short(session.ranks(), Trainer::batch, Trainer::micro_batches, loader.size(), run);
    const bool drops = run.remainder == Remainder::Drop;  // then an incomplete step is left out, too
    const std::uint64_t in_epochs = session.steps_done + loader.steps() / Trainer::micro_batches +
                                    (!drops && loader.steps() % Trainer::micro_batches != 0);
    const auto has_step = [&] { return loader.steps() - loader.step() >= (drops ? Trainer::micro_batches : 1); };
    // A callback of one rank may hear epochs: then all ranks stop at them.
    constexpr bool hears = measures || (hears_epochs<Trainer, Callbacks> || ...),
                   may_tell = hears || !Trainer::Step::Sharding::alone;
    const bool tells_epochs = may_tell && !trainer.on_all_ranks(!hears);
    Progress progress(run.progress && session.rank() == 0, run.epochs != 0 && in_epochs < last ? in_epochs : last);
    InputMeter input(run.progress && session.rank() == 0, data::timings(source), run.workers == data::automatic);
    Fitted fitted{session.steps_done};
    bool goes_on = true;
    patience.is_kept = run.patience != 0;
    if (!patience.is_resumed) patience = Patience{.is_kept = patience.is_kept};
    [[maybe_unused]] const auto tell_all = [&](const auto& event) {
      goes_on = tell(trainer, event, callbacks...) && goes_on;
    };
    [[maybe_unused]] EpochCount epoch;
    if (const DataPlace at = loader.place(); may_tell)  // until one begins here: the one that steps before have run in
      epoch.event.epoch = at.epoch - (at.samples == 0 && at.epoch > 0);
    [[maybe_unused]] std::uint64_t measured_at = never;
    [[maybe_unused]] const auto tell_metrics = [&](bool ended) {  // of the steps of the epoch so far
      if constexpr (measures)
        if (epoch.event.steps > 0) {
          const Measured found = measured.found(epoch.event, ended);
          if (std::exchange(measured_at, session.steps_done) == session.steps_done && !ended) return;
          progress.metrics(found);
          tell_all(found);
        }
    };
    const auto validate = [&] {
      if (epoch.is_open) tell_metrics(false);
      const Evaluation evaluation = evaluated(trainer, *validation, run, measured);
      patience.validated_at = session.steps_done;
      fitted.validation_loss = evaluation.loss;
      progress.validation(session.steps_done, evaluation.loss, evaluation.accuracy);
      // An evaluation that only the end of this call asks for decides nothing: a run that goes on does not have it.
      const bool counts = run.validate_every == 0 || session.steps_done % run.validate_every == 0,
                 gains = is_finite(evaluation.loss) && evaluation.loss < patience.best;
      if (counts) patience.without_gain = gains ? 0 : patience.without_gain + 1;
      if (counts && gains) patience.best = evaluation.loss;
      if (counts && run.patience != 0 && patience.without_gain >= run.patience) {
        fitted.stopped_early = true;
        goes_on = false;
      }
      tell_all(evaluation);
      if constexpr (measures) {
        const Measured found = measured.evaluated(epoch.event.epoch);
        progress.metrics(found);
        tell_all(found);
        if (epoch.is_open) measured.resume();
      }
    };
    const auto is_due = [&] {
      return validation != nullptr && run.validate_every != 0 && session.steps_done > 0 &&
             session.steps_done % run.validate_every == 0 && patience.validated_at != session.steps_done;
    };
    // A state that a callback saved between a step and its evaluation: evaluate first. A state saved
    // when patience had ended: stop.
    if (patience.is_resumed && is_due()) validate();
    if (patience.is_resumed && run.patience != 0 && patience.without_gain >= run.patience) {
      fitted.stopped_early = true;
      goes_on = false;
    }
    patience.is_resumed = false;
    const bool asks = !trainer.on_all_ranks(sizeof...(Callbacks) == 0);  // a callback of one rank may stop all ranks
    const auto all_go_on = [&] { return asks ? trainer.on_all_ranks(goes_on) : goes_on; };
    // Without callbacks the results of a step are read while the next step runs, unless that must not follow an
    // anomaly.
    constexpr bool reads_late = sizeof...(Callbacks) == 0 && !Trainer::Recipe::checks_finite;
    constexpr bool moves_scale = Trainer::Recipe::loss_scaling.growth_interval > 0;
    std::size_t finished = 0;
    typename Session::Ran* before = nullptr;
    const auto finish = [&](typename Session::Ran& ran) {
      StepResults results;
      session.guarded([&] { results = session.finish(ran); });
      fitted.loss = results.back().loss;
      finished += results.size();
      for (const StepResult& result : results) {
        if (result.skipped() && ++fitted.skipped == 1 && !moves_scale)
          progress.skips("step " + std::to_string(result.step),
                         "Debug<Anomaly> finds the layer, Fitted::skipped counts such steps");
        input.step(result.milliseconds, result.waited);
        progress.input(input.share());
        progress.step(result.step, result.loss, result.samples * Trainer::target_size, result.milliseconds);
      }
      input.say_if_bound(source);
      if constexpr (may_tell)
        for (const StepResult& result : results) {
          using Step = typename Session::Step;
          epoch.add(result, Step::divisor_of(result.weight), Step::divisor_of(epoch.weight + result.weight));
        }
      if constexpr (Session::steps > 1) tell_all(results);
      else tell_all(results.front());
    };
    const auto finish_before = [&] {
      if (before != nullptr) finish(*std::exchange(before, nullptr));
    };
    while (all_go_on() && session.steps_done < last && has_step()) {
      if constexpr (may_tell)
        if (tells_epochs && !epoch.is_open) {  // on all ranks at once; then they ask each other again whether to go on
          if constexpr (measures) measured.begin();
          tell_all(epoch.begin(loader.place().epoch, session.steps_done));
          continue;
        }
      typename Session::Ran& ran =
          start(session, loader, steps_before(session, run, last, validation != nullptr), tells_epochs, measured);
      if (reads_late) finish_before();
      before = &ran;
      if (!reads_late || is_due()) finish_before();
      if constexpr (may_tell) {  // a step may hold whole epochs
        const std::uint64_t next = !tells_epochs ? 0 : has_step() ? loader.place().epoch : run.epochs;
        for (std::uint64_t of = epoch.event.epoch; of < next; ++of) {
          if (!epoch.is_open) tell_all(epoch.begin(of, session.steps_done));
          tell_metrics(true);
          tell_all(epoch.end(session.steps_done));
        }
      }
      if (is_due()) validate();
    }
    finish_before();
    if (validation != nullptr && patience.validated_at != session.steps_done) validate();
    if (epoch.is_open) tell_metrics(false);
    if (moves_scale && fitted.skipped > 0)
      progress.skips(std::to_string(fitted.skipped) + " of " + regimen::detail::counted(finished, "step"),
                     "some belong to LossScale<Dynamic>, which tries larger scales");
    fitted.steps = session.steps_done;
    fitted.input_share = input.share();
    fitted.workers = loader.workers();
    fitted.ahead = loader.ahead();
    if (run.workers == data::automatic && run.progress && session.rank() == 0) say_chosen(fitted);
    tell_all(fitted);
    if (asks) trainer.on_all_ranks(true);  // no rank goes on alone where a callback of another has thrown
    return fitted;
  }

  /// A hash of the number of samples, and of the first, the middle and the last sample. Error if there is none.
  template <class Source>
  [[gnu::cold]] static std::uint64_t fingerprint_of_source(const Source& source) {
    const std::size_t size = source.size(Trainer::sample_shape());
    if (size == 0) throw Error(regimen::detail::name_of_source(source), "at least one sample", "none");
    std::vector<typename Trainer::Input> input(Trainer::input_size);
    std::vector<typename Trainer::Label> target(Trainer::target_size);
    std::uint64_t print = size;
    for (const std::size_t index : {std::size_t{0}, size / 2, size - 1}) {
      regimen::detail::read_sample(source, {.index = index},
                                   Sample<typename Trainer::Input, typename Trainer::Label>{input, target});
      for (const auto& value : input) print = mix(print, bits_of_number(value));
      for (const auto& value : target) print = mix(print, bits_of_number(value));
    }
    return print;
  }

  /// Of the weights, or of their averages.
  template <class Validation, class Measurement = Unmeasured>
  static Evaluation evaluated(Trainer& trainer, const Validation& validation, const FitOptions& run,
                              Measurement&& measured = {}) {
    const auto evaluate = [&] {
      if constexpr (std::is_same_v<std::remove_cvref_t<Measurement>, Unmeasured>)
        return trainer.evaluate(validation, run.workers);
      else
        return measured.evaluate(
            [&](const auto& program) { return Inside::evaluate_by(trainer, validation, run.workers, program); });
    };
    if constexpr (keeps_averages<typename Session::UpdateRule>) {
      Session& session = Inside::session(trainer);
      if (run.validate_average && session.scalars().updates > 0) {
        Evaluation found;
        Average<Session>::with(session, "Trainer::fit", [&] { found = evaluate(); });
        return found;
      }
    }
    return evaluate();
  }

 private:
  struct Running {
    explicit Running(Session& of) : session(of) {
      session.fits = true;
      session.waited = 0;
    }
    ~Running() { session.fits = false; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    Session& session;
  };

  static void say_chosen(const Fitted& fitted) {
    regimen::detail::say("regimen: " + regimen::detail::counted(fitted.workers, "worker") + " read the data, " +
                         std::to_string(fitted.ahead) + " of its batches ahead\n");
  }

  /// Throws Error if the source cannot serve this model, or its first or last sample cannot be read.
  template <class Source>
  static void ask(const Source& source) {
    LoaderOptions options{.order = Order::Sequential, .workers = 0};
    for (const bool last : {false, true}) {
      Loader<typename Trainer::Input, typename Trainer::Label, Borrowed<Source>> loader(
          {&source}, Trainer::sample_shape(), options);
      if (last || loader.size() > 1) loader.next();
      options.first.samples = loader.size() - 1;
    }
  }

  static std::uint64_t micro_batches_until(const Session& session, std::uint64_t last) {
    std::uint64_t count = 0;
    if (session.steps_done >= last) return 0;
    return __builtin_mul_overflow(last - session.steps_done, Trainer::micro_batches, &count) ? never : count;
  }
  /// Steps until the run ends, or is evaluated.
  static std::uint64_t steps_before(const Session& session, const FitOptions& run, std::uint64_t last, bool validates) {
    const std::uint64_t left = last - session.steps_done;
    if (!validates || run.validate_every == 0) return left;
    return (std::min)(left, run.validate_every - session.steps_done % run.validate_every);
  }
  /// Whether the next `steps` steps have full batches, and, if epochs matter, begin in one; the same on all ranks.
  static bool can_launch(const auto& loader, bool in_one_epoch) {
    constexpr std::size_t micro_batches = Session::steps * Trainer::micro_batches;
    if (loader.steps() - loader.step() < micro_batches) return false;
    const std::uint64_t last = loader.step() + micro_batches - Trainer::micro_batches;
    if (in_one_epoch && loader.batching().place(last).epoch != loader.place().epoch) return false;
    for (std::uint64_t m = 0; m < micro_batches; ++m)
      if (!loader.is_full(loader.step() + m)) return false;
    return true;
  }
  /// Starts a launch of several steps, if that many come before anything else, or one step.
  static typename Session::Ran& start(Session& session, auto& loader, [[maybe_unused]] std::uint64_t most,
                                      [[maybe_unused]] bool in_one_epoch, [[maybe_unused]] auto& measured) {
    constexpr bool measures = !std::is_same_v<std::remove_cvref_t<decltype(measured)>, Unmeasured>;
    [[maybe_unused]] decltype(loader.next()) last{};
    const auto give = [&](std::size_t micro_batch, std::size_t ahead) {
      session.uploaded.wait();  // next() gives the previous batch back to the loader
      session.walk.all_are_whole = loader.step() < loader.steps() && loader.is_full(loader.step());
      const double before = loader.waited();
      const auto next = loader.next();
      session.waited += loader.waited() - before;
      session.give_batch(next.input, next.target, next.samples, micro_batch, ahead);
      if constexpr (measures) last = next;
      return next.samples;
    };
    typename Session::Ran& ran = [&]() -> typename Session::Ran& {
      if constexpr (Session::steps > 1 && !measures)
        if (most >= Session::steps && can_launch(loader, in_one_epoch)) return session.start_launch(give);
      const auto load = [&](std::size_t micro_batch) { return give(micro_batch, 0); };
      if constexpr (measures) return session.start_step(load, [&](std::size_t output) { measured.see(output, last); });
      else return session.start_step(load);
    }();
    session.place = loader.place();
    return ran;
  }
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
