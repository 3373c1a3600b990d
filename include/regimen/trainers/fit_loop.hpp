// regimen/trainers/fit_loop.hpp — the loop of Trainer::fit: steps, epochs, evaluations, progress, the end. It knows no
// type of a program: FitProgram (trainers/fit.hpp) has data, steps and callbacks.
#pragma once

#include <regimen/core/now.hpp>
#include <regimen/core/say.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/loader.hpp>
#include <regimen/data/source.hpp>
#include <regimen/saves/patience.hpp>
#include <regimen/trainers/options.hpp>
#include <regimen/trainers/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace regimen::trainers {

/// Writes to standard error. On a terminal redraws one line, at most ten times a second; elsewhere writes a line at the
/// first step, at the last, and at most every two seconds: the loss, targets a second, the time left, the memory of
/// this process if the system reports it (a GPU's is in the plan), the share of waiting for data. If nobody reads the
/// output any more, stops writing; the run continues.
class Progress {
 public:
  Progress(bool shown, std::uint64_t steps)
      : shown_(shown), terminal_(isatty(STDERR_FILENO) == 1), steps_(steps), began_(regimen::detail::now()) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void step(std::uint64_t step, double loss, std::size_t targets, double milliseconds);

  /// How long steps have waited for data so far, of all their time.
  void input(double share) { input_share_ = share; }

  /// Says that steps change no weight, so far or in all.
  [[gnu::cold]] void skips(const std::string& which, const char* why);

  void validation(std::uint64_t step, double loss, double accuracy);
  void metrics(const Measured& found);

 private:
  [[gnu::cold]] void draw(std::uint64_t step, double loss, bool last);
  /// A loss that diverges has up to 309 digits before its point: then digits are counted from the first.
  [[gnu::cold]] static std::string shown(double number);
  [[gnu::cold]] void clear();
  [[gnu::cold]] void write(const std::string& text) { shown_ = shown_ && regimen::detail::say(text); }

  bool shown_, terminal_, open_ = false, has_accuracy_ = false;
  std::uint64_t steps_, done_ = 0;
  double began_, drawn_ = 0, targets_ = 0, seconds_ = 0, input_share_ = 0;
};

/// Adds up how long steps took, and for how much of this time the loop waited for its next batch. On a device that runs
/// asynchronously the host may wait while the device still computes: there the share is an upper bound.
class InputMeter final {
 public:
  /// `before` are the timings of the source when the run began; `automatic`: fit adds workers itself.
  InputMeter(bool speaks, std::vector<data::Timing> before, bool automatic = false)
      : speaks_(speaks), automatic_(automatic), before_(std::move(before)) {}

  void step(double milliseconds, double waited) {
    milliseconds_ += milliseconds;
    waited_ += waited;
  }
  /// The share of waiting in all steps; 0 before the first.
  double share() const { return milliseconds_ > 0 ? (waited_ < milliseconds_ ? waited_ / milliseconds_ : 1) : 0; }

  /// Prints once that waiting takes more than a tenth of the time, if it has done so for two seconds.
  template <class Source>
  void say_if_bound(const Source& source) {
    if (!speaks_ || milliseconds_ < 2000 || share() <= 0.1) return;
    speaks_ = false;
    regimen::detail::say(
        words(share(), regimen::detail::name_of_source(source), data::timings(source), before_, automatic_));
  }

  /// The line that it prints.   name   of the source
  static std::string words(double share, const std::string& name, const std::vector<data::Timing>& now,
                           const std::vector<data::Timing>& before, bool automatic = false);

 private:
  bool speaks_, automatic_;
  std::vector<data::Timing> before_;
  double milliseconds_ = 0, waited_ = 0;
};

/// The epoch that fit is in, and the sum of its steps.
struct EpochCount final {
  EpochEvent event{};
  bool is_open = false;
  double loss_sum = 0, weight = 0, divisor = 0, began = 0;

  const EpochEvent& begin(std::uint64_t epoch, std::uint64_t step);
  /// divisor_of(weight) divides a sum of losses.
  void add(const StepResult& result, double (*divisor_of)(double));
  const EpochEvent& end(std::uint64_t step);
};

/// Throws Error when options of fit contradict each other, or the program.
void check_run(const FitOptions& run, bool has_validation, bool has_averages);
/// Warns if an epoch is smaller than a batch or a step: then the batches differ from those that the program names.
void say_if_short(std::size_t ranks, std::size_t own_batch, std::size_t micro_batches, std::size_t size,
                  const FitOptions& run);
/// A number that is equal on all ranks if their options are.
std::uint64_t fingerprint_of_run(const FitOptions& run);

/// The metrics that fit was given: FitMeasurement (watch/measurement.hpp).
class FitMetrics {
 public:
  /// An epoch begins: its first batch will be the first that counts.
  virtual void begin() = 0;
  /// The sums of the epoch so far, of all ranks.
  virtual Measured found(const EpochEvent& epoch, bool ended) = 0;
  /// The epoch continues.
  virtual void resume() = 0;
  /// The results of the last evaluation.
  virtual Measured evaluated(std::uint64_t epoch) const = 0;

 protected:
  ~FitMetrics() = default;
};

/// The program's side of the loop: its data, its steps, its callbacks.
class FitProgram {
 public:
  /// Starts the next step, or a launch of several steps. At most `most` steps may run before anything else happens.
  ///   in_one_epoch   the steps of a launch are of one epoch
  virtual void start(std::uint64_t most, bool in_one_epoch) = 0;
  /// Waits for the oldest unfinished start; returns the results of its steps.
  virtual StepResults finish() = 0;
  virtual Evaluation evaluate() = 0;
  /// Whether `own` is true on every rank.
  virtual bool on_all_ranks(bool own) = 0;
  /// Tells callbacks. False: one of them ends the run.
  virtual bool tell(StepResults steps) = 0;
  virtual bool tell(const EpochEvent& epoch) = 0;
  virtual bool tell(const Evaluation& evaluation) = 0;
  virtual bool tell(const Measured& found) = 0;
  virtual bool tell(const Fitted& fitted) = 0;
  /// The name and the timings of the source.
  virtual std::string name() const = 0;
  virtual void timings(std::vector<data::Timing>& all) const = 0;

 protected:
  ~FitProgram() = default;
};

/// Facts of a run that do not change while it lasts.
struct FitFacts final {
  FitOptions options;
  std::size_t rank, micro_batches, targets;  // targets: of a sample
  bool validates;
  bool hears_epochs;   // a callback of this rank
  bool has_callbacks;  // on this rank
  bool reads_late;     // results of a step are read while the next one runs
  bool moves_scale;    // the loss scale changes
  double (*divisor_of)(double);
};

/// The loop. It refers to the program's `loader`, `steps_done` and `patience`; the program changes the first two in its
/// steps.
class FitLoop final {
 public:
  FitLoop(const FitFacts& facts, FitProgram& program, FitMetrics* metrics, const detail::BatchRing& loader,
          const std::uint64_t& steps_done, saves::Patience& patience);
  Fitted run();

 private:
  std::uint64_t last_step() const;
  bool has_data() const;
  bool has_step() const;
  bool all_go_on();
  bool is_due() const;
  std::uint64_t steps_before() const;

  void resume();
  bool begins_epoch();
  void step();
  void finish_step();
  void end_epochs();
  void validate();
  void tell_metrics(bool ended);
  void tell(const auto& event) { goes_on_ = program_.tell(event) && goes_on_; }
  const Fitted& end();

  const FitFacts facts_;
  FitProgram& program_;
  FitMetrics* const metrics_;  // null: none
  const detail::BatchRing& loader_;
  const std::uint64_t& steps_done_;
  saves::Patience& patience_;
  // A callback of one rank may hear epochs, or end the run: then all ranks stop at them, and ask each other.
  const bool tells_epochs_, asks_;
  Progress progress_;
  InputMeter input_;
  EpochCount epoch_{};
  Fitted fitted_{};
  bool goes_on_ = true;
  std::size_t running_ = 0, finished_ = 0;    // steps or launches that run; steps that have ended
  std::uint64_t measured_at_ = saves::never;  // the step after which metrics were told
};

}  // namespace regimen::trainers

#if !REGIMEN_COMPILED
#include <regimen/trainers/fit_loop.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
