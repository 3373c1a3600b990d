// regimen/train/fit.hpp — the loop of Trainer::fit: batches, steps, evaluations, callbacks, and when it ends.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/rule/callback_takes_event.hpp>
#include <regimen/train/options.hpp>
#include <regimen/train/progress.hpp>
#include <regimen/train/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace regimen::train {

/// A source that somebody else keeps: a Loader holds its source by value, and a program's may be large.
template <class Source>
struct Borrowed final {
  const Source* source;

  std::size_t size(const SampleShape& shape) const { return source->size(shape); }
  template <class In, class Target>
    requires requires(const Source& s, Sample<In, Target> sample) { s.read(std::size_t{}, sample); }
  void read(std::size_t index, Sample<In, Target> sample) const {
    source->read(index, sample);
  }
  std::string name() const { return detail::name_of_source(*source); }
};

/// Whether Trainer::fit ever calls it.
template <class Trainer, class Callback>
inline constexpr bool is_called = std::is_invocable_v<Callback&, Trainer&, const StepResult&> || std::is_invocable_v<Callback&, Trainer&, const Evaluation&>;
template <class Trainer, class Callback>
using heard_callback = typename rule::callback_takes_event<std::remove_reference_t<Callback>, is_called<Trainer, Callback>>::must_hold;

/// A friend of the Trainer: its loop over the steps that others do one at a time.
template <class Trainer>
struct FitLoop final {
  /// `validation` may be null.
  template <class Source, class Validation, class... Callbacks>
  static Fitted run(Trainer& trainer, const Source& source, const Validation* validation, const Run& run, Callbacks&... callbacks) {
    constexpr std::uint64_t never = (std::numeric_limits<std::uint64_t>::max)();
    if (run.steps == 0 && run.epochs == 0)
      throw Error("Trainer::fit", "steps or epochs that end the run", "neither", "write fit(source, {.steps = 1000})");
    auto loader = trainer.batches(source, run);
    const std::uint64_t last = run.steps != 0 ? run.steps : never;
    const std::uint64_t in_epochs = (loader.steps() + Trainer::micro_batches - 1) / Trainer::micro_batches;
    Progress progress(run.progress && trainer.rank() == 0, run.epochs != 0 && in_epochs < last ? in_epochs : last);
    Fitted fitted{trainer.step_};
    double best = std::numeric_limits<double>::infinity();
    std::uint64_t without_gain = 0, validated_at = never;
    bool goes_on = true;
    const auto validate = [&] {
      const Evaluation evaluation = trainer.evaluate(*validation, run.workers);
      validated_at = trainer.step_;
      fitted.validation_loss = evaluation.loss;
      progress.validation(trainer.step_, evaluation.loss, evaluation.accuracy);
      ((goes_on = tell(trainer, callbacks, evaluation) && goes_on), ...);
      without_gain = evaluation.loss < best ? 0 : without_gain + 1;
      if (evaluation.loss < best) best = evaluation.loss;
      if (run.patience != 0 && without_gain >= run.patience) {
        fitted.stopped_early = true;
        goes_on = false;
      }
    };
    while (goes_on && trainer.step_ < last && loader.step() < loader.steps()) {
      const StepResult result = step(trainer, loader);
      fitted.loss = result.loss;
      progress.step(result.step, result.loss, result.samples * Trainer::target_size, result.milliseconds);
      ((goes_on = tell(trainer, callbacks, result) && goes_on), ...);
      if (validation != nullptr && run.validate_every != 0 && trainer.step_ % run.validate_every == 0) validate();
    }
    if (validation != nullptr && validated_at != trainer.step_) validate();
    fitted.steps = trainer.step_;
    return fitted;
  }

 private:
  static StepResult step(Trainer& trainer, auto& loader) {
    const StepResult result = trainer.run_step([&](std::size_t micro_batch) -> std::size_t {
      const auto next = loader.next();
      trainer.bring(next.input, next.target, next.samples, micro_batch);
      return next.samples;
    });
    trainer.batches_done_ = loader.step();
    return result;
  }

  template <class Callback, class Event>
  static bool tell(Trainer& trainer, Callback& callback, const Event& event) {
    if constexpr (std::is_invocable_r_v<bool, Callback&, Trainer&, const Event&>) return callback(trainer, event);
    else if constexpr (std::is_invocable_v<Callback&, Trainer&, const Event&>) callback(trainer, event);
    return true;
  }
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
