// regimen/trainers/fit_loop.ipp — the bodies of fit_loop.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/trainers/fit_loop.hpp>
#include <regimen/trainers/launches.hpp>  // resident_bytes

#include <sys/ioctl.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace regimen::trainers {

REGIMEN_INLINE Progress::~Progress() {
  if (open_) clear();
}

REGIMEN_INLINE void Progress::step(std::uint64_t step, double loss, std::size_t targets, double milliseconds) {
  if (!shown_) return;
  ++done_;
  targets_ += double(targets);
  seconds_ += milliseconds * 1e-3;
  const double time = regimen::detail::now();
  const bool last = step == steps_;
  if (!last && done_ != 1 && time - drawn_ < (terminal_ ? 0.1 : 2.0)) return;
  drawn_ = time;
  draw(step, loss, last);
}

REGIMEN_INLINE void Progress::skips(const std::string& which, const char* why) {
  if (!shown_) return;
  clear();
  write("regimen: " + which + " changed no weight, as a gradient was not finite; " + why + "\n");
}

REGIMEN_INLINE void Progress::validation(std::uint64_t step, double loss, double accuracy) {
  has_accuracy_ = is_finite(accuracy);
  if (!shown_) return;
  clear();
  write("step " + std::to_string(step) + "  validation loss " + shown(loss) +
        (has_accuracy_ ? "  accuracy " + shown(accuracy) : "") + "\n");
}

REGIMEN_INLINE void Progress::metrics(const Measured& found) {
  std::string line;
  for (const MetricValue& of : found.values)
    if (!found.evaluation || !has_accuracy_ || of.name != "accuracy")  // which the validation's line has
      line += "  " + of.name + " " + shown(of.value);
  if (!shown_ || line.empty()) return;
  clear();
  write("step " + std::to_string(found.step) + (found.evaluation ? "  validation" : "  training") + line.substr(1) +
        "\n");
}

REGIMEN_INLINE void Progress::draw(std::uint64_t step, double loss, bool last) {
  const double rate = seconds_ > 0 ? targets_ / seconds_ : 0;
  const double left = steps_ != (std::numeric_limits<std::uint64_t>::max)() && step < steps_
                          ? (drawn_ - began_) / double(done_) * double(steps_ - step)
                          : 0;
  using regimen::detail::printed;
  const std::string total = steps_ == (std::numeric_limits<std::uint64_t>::max)() ? "?" : std::to_string(steps_);
  std::string rest = printed("  %.3g targets/s  %.0f s left", rate, left);
  if (const double memory = double(resident_bytes()); memory > 0)
    rest += memory < 1e9 ? printed("  %.0f MB", memory * 1e-6) : printed("  %.1f GB", memory * 1e-9);
  if (input_share_ >= 0.005) rest += printed("  %.0f %% waiting", input_share_ * 100);
  const auto line = [&](const char* gap) {
    return "step " + std::to_string(step) + "/" + total + gap + "loss " + shown(loss) + rest;
  };
  if (terminal_) {
    // The bar has the rest of the terminal's width: a wrapped line is not redrawn.
    winsize size{};
    const int columns = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    const int width = std::clamp(columns - 2 - static_cast<int>(line(" ").size()), 0, 24);
    const int filled = steps_ > 0 ? static_cast<int>(double(width) * double(step) / double(steps_)) : 0;
    std::string bar;
    for (int i = 0; i < width; ++i) bar += i < filled ? "█" : "░";
    write("\r\033[K" + bar + " " + line(" "));
    open_ = true;
    if (last) clear();
  } else {
    write(line("  ") + "\n");
  }
}

REGIMEN_INLINE std::string Progress::shown(double number) {
  return regimen::detail::printed(std::abs(number) < 1e9 || !is_finite(number) ? "%.4f" : "%.4e", number);
}

REGIMEN_INLINE void Progress::clear() {
  if (open_) write("\n");
  open_ = false;
}

REGIMEN_INLINE std::string InputMeter::words(double share, const std::string& name,
                                             const std::vector<data::Timing>& now,
                                             const std::vector<data::Timing>& before, bool automatic) {
  std::string all = regimen::detail::printed("regimen: training waits %.0f %% of its time for data", share * 100);
  std::size_t slowest = now.size();
  double longest = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double seconds = now[i].seconds - (i < before.size() ? before[i].seconds : 0);
    if (seconds > longest) {
      longest = seconds;
      slowest = i;
    }
  }
  if (slowest < now.size()) {
    const auto values = now[slowest].values - (slowest < before.size() ? before[slowest].values : 0);
    all += " (" + name + "); the slowest stage is " + now[slowest].stage +
           regimen::detail::printed(", %.3g us a value", longest / double(values > 0 ? values : 1) * 1e6);
  } else {
    all += ", from " + name;
  }
  return all + (automatic ? "; workers are added while processors are left: give it less work to do there\n"
                          : "; give fit {.workers = data::automatic}, or less work to do there\n");
}

REGIMEN_INLINE const EpochEvent& EpochCount::begin(std::uint64_t epoch, std::uint64_t step) {
  *this = EpochCount{};
  event.epoch = epoch;
  event.step = step;
  is_open = true;
  began = regimen::detail::now();
  return event;
}
REGIMEN_INLINE void EpochCount::add(const StepResult& result, double (*divisor_of)(double)) {
  ++event.steps;
  event.targets += result.targets;
  weight += result.weight;
  if (result.weight > 0) loss_sum += result.loss * divisor_of(result.weight);
  divisor = divisor_of(weight);
}
REGIMEN_INLINE const EpochEvent& EpochCount::end(std::uint64_t step) {
  event.step = step;
  event.ended = true;
  event.loss = mean_of(loss_sum, divisor);
  event.seconds = regimen::detail::now() - began;
  is_open = false;
  return event;
}

REGIMEN_INLINE void check_run(const FitOptions& run, bool has_validation, bool has_averages) {
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
REGIMEN_INLINE void say_if_short(std::size_t ranks, std::size_t own_batch, std::size_t micro_batches, std::size_t size,
                                 const FitOptions& run) {
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
REGIMEN_INLINE std::uint64_t fingerprint_of_run(const FitOptions& run) {
  return Philox::mix(Philox::mix(run.steps, run.epochs),
                     Philox::mix(Philox::mix(run.validate_every, run.patience),
                                 Philox::mix(static_cast<std::uint64_t>(run.order),
                                             2 * static_cast<std::uint64_t>(run.remainder) + run.validate_average)));
}

REGIMEN_INLINE FitLoop::FitLoop(const FitFacts& facts, FitProgram& program, FitMetrics* metrics,
                                const detail::BatchRing& loader, const std::uint64_t& steps_done,
                                saves::Patience& patience)
    : facts_(facts),
      program_(program),
      metrics_(metrics),
      loader_(loader),
      steps_done_(steps_done),
      patience_(patience),
      tells_epochs_(!program.on_all_ranks(!facts.hears_epochs)),
      asks_(!program.on_all_ranks(!facts.has_callbacks)),
      progress_(facts.options.progress && facts.rank == 0, last_step()),
      input_(facts.options.progress && facts.rank == 0, data::timings(program),
             facts.options.workers == data::automatic) {
  fitted_.steps = steps_done;
  patience_.is_kept = facts_.options.patience != 0;
  if (!patience_.is_resumed) patience_ = saves::Patience{.is_kept = patience_.is_kept};
  const DataPlace at = loader_.place();  // until an epoch begins: the one that steps before have run in
  epoch_.event.epoch = at.epoch - (at.samples == 0 && at.epoch > 0);
}

REGIMEN_INLINE Fitted FitLoop::run() {
  resume();
  while (all_go_on() && has_step()) {
    if (begins_epoch()) continue;  // then all ranks ask each other again whether to go on
    step();
    end_epochs();
    if (is_due()) validate();
  }
  return end();
}

// ---- when

/// The step that ends the run, by the steps or the epochs that it was given.
REGIMEN_INLINE std::uint64_t FitLoop::last_step() const {
  const std::uint64_t given = facts_.options.steps != 0 ? facts_.options.steps : saves::never;
  if (facts_.options.epochs == 0) return given;
  const bool drops = facts_.options.remainder == Remainder::Drop;
  const std::uint64_t of_epochs =
      steps_done_ + loader_.steps() / facts_.micro_batches + (!drops && loader_.steps() % facts_.micro_batches != 0);
  return (std::min)(given, of_epochs);
}
/// Data for a step. Remainder::Drop leaves an incomplete one out, too.
REGIMEN_INLINE bool FitLoop::has_data() const {
  return loader_.steps() - loader_.step() >= (facts_.options.remainder == Remainder::Drop ? facts_.micro_batches : 1);
}
REGIMEN_INLINE bool FitLoop::has_step() const {
  return (facts_.options.steps == 0 || steps_done_ < facts_.options.steps) && has_data();
}
REGIMEN_INLINE bool FitLoop::all_go_on() { return asks_ ? program_.on_all_ranks(goes_on_) : goes_on_; }
REGIMEN_INLINE bool FitLoop::is_due() const {
  const std::uint64_t every = facts_.options.validate_every;
  return facts_.validates && every != 0 && steps_done_ > 0 && steps_done_ % every == 0 &&
         patience_.validated_at != steps_done_;
}
/// Steps until the run ends, or is evaluated.
REGIMEN_INLINE std::uint64_t FitLoop::steps_before() const {
  const std::uint64_t left = (facts_.options.steps != 0 ? facts_.options.steps : saves::never) - steps_done_,
                      every = facts_.options.validate_every;
  return facts_.validates && every != 0 ? (std::min)(left, every - steps_done_ % every) : left;
}

// ---- the parts of run

/// A state that a callback saved between a step and its evaluation: evaluate first. A state saved when patience had
/// ended: stop.
REGIMEN_INLINE void FitLoop::resume() {
  if (patience_.is_resumed && is_due()) validate();
  if (patience_.is_resumed && facts_.options.patience != 0 && patience_.without_gain >= facts_.options.patience) {
    fitted_.stopped_early = true;
    goes_on_ = false;
  }
  patience_.is_resumed = false;
}
/// All ranks begin together.
REGIMEN_INLINE bool FitLoop::begins_epoch() {
  if (!tells_epochs_ || epoch_.is_open) return false;
  if (metrics_ != nullptr) metrics_->begin();
  tell(epoch_.begin(loader_.place().epoch, steps_done_));
  return true;
}
REGIMEN_INLINE void FitLoop::step() {
  program_.start(steps_before(), tells_epochs_);
  ++running_;
  while (running_ > (facts_.reads_late && !is_due() ? 1u : 0u)) finish_step();
}
REGIMEN_INLINE void FitLoop::finish_step() {
  const StepResults results = program_.finish();
  --running_;
  fitted_.loss = results.back().loss;
  finished_ += results.size();
  for (const StepResult& result : results) {
    if (result.skipped() && ++fitted_.skipped == 1 && !facts_.moves_scale)
      progress_.skips("step " + std::to_string(result.step),
                      "Debug<Anomaly> finds the layer, Fitted::skipped counts such steps");
    input_.step(result.milliseconds, result.waited);
    progress_.input(input_.share());
    progress_.step(result.step, result.loss, result.samples * facts_.targets, result.milliseconds);
  }
  input_.say_if_bound(program_);
  for (const StepResult& result : results) epoch_.add(result, facts_.divisor_of);
  tell(results);
}
/// A step may hold whole epochs.
REGIMEN_INLINE void FitLoop::end_epochs() {
  if (!tells_epochs_) return;
  const std::uint64_t next = has_data() ? loader_.place().epoch : facts_.options.epochs;
  for (std::uint64_t of = epoch_.event.epoch; of < next; ++of) {
    if (!epoch_.is_open) tell(epoch_.begin(of, steps_done_));
    tell_metrics(true);
    tell(epoch_.end(steps_done_));
  }
}
REGIMEN_INLINE void FitLoop::validate() {
  if (epoch_.is_open) tell_metrics(false);
  const Evaluation evaluation = program_.evaluate();
  patience_.validated_at = steps_done_;
  fitted_.validation_loss = evaluation.loss;
  progress_.validation(steps_done_, evaluation.loss, evaluation.accuracy);
  // An evaluation only because this call ends decides nothing: an uninterrupted run does not have it.
  const std::uint64_t every = facts_.options.validate_every;
  const bool counts = every == 0 || steps_done_ % every == 0,
             gains = is_finite(evaluation.loss) && evaluation.loss < patience_.best;
  if (counts) patience_.without_gain = gains ? 0 : patience_.without_gain + 1;
  if (counts && gains) patience_.best = evaluation.loss;
  if (counts && facts_.options.patience != 0 && patience_.without_gain >= facts_.options.patience) {
    fitted_.stopped_early = true;
    goes_on_ = false;
  }
  tell(evaluation);
  if (metrics_ == nullptr) return;
  const Measured found = metrics_->evaluated(epoch_.event.epoch);
  progress_.metrics(found);
  tell(found);
  if (epoch_.is_open) metrics_->resume();
}
/// For the epoch's steps so far; once after each step, and at the epoch's end.
REGIMEN_INLINE void FitLoop::tell_metrics(bool ended) {
  if (metrics_ == nullptr || epoch_.event.steps == 0) return;
  const Measured found = metrics_->found(epoch_.event, ended);
  if (std::exchange(measured_at_, steps_done_) == steps_done_ && !ended) return;
  progress_.metrics(found);
  tell(found);
}
REGIMEN_INLINE const Fitted& FitLoop::end() {
  while (running_ > 0) finish_step();
  if (facts_.validates && patience_.validated_at != steps_done_) validate();
  if (epoch_.is_open) tell_metrics(false);
  if (facts_.moves_scale && fitted_.skipped > 0)
    progress_.skips(std::to_string(fitted_.skipped) + " of " + regimen::detail::counted(finished_, "step"),
                    "some belong to LossScale<Dynamic>, which tries larger scales");
  fitted_.steps = steps_done_;
  fitted_.input_share = input_.share();
  fitted_.workers = loader_.workers();
  fitted_.ahead = loader_.ahead();
  if (facts_.options.workers == data::automatic && facts_.options.progress && facts_.rank == 0)
    regimen::detail::say("regimen: " + regimen::detail::counted(fitted_.workers, "worker") + " read the data, " +
                         std::to_string(fitted_.ahead) + " of its batches ahead\n");
  tell(std::as_const(fitted_));
  if (asks_) program_.on_all_ranks(true);  // no rank goes on alone where a callback of another has thrown
  return fitted_;
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
