// regimen/train/result.hpp — the results of a Trainer, and the types of a loop written by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regimen {

namespace train {
template <class Session>
struct LoopByHand;
}  // namespace train

/// The value of a loss, a norm or an accuracy if no target was valid (ignore_index), or nothing ran.
inline constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
/// The mean over valid targets.
constexpr double mean_of(double sum, double count) { return count > 0 ? sum / count : no_value; }
namespace train {
/// A number of targets, or a sum of weights, rounded up: 0 only if there is none.
constexpr std::size_t whole_targets(double count) {
  const auto below = static_cast<std::size_t>(count);
  return below + (static_cast<double>(below) < count ? 1 : 0);
}
}  // namespace train

/// The result of one optimizer step.
///
///   step            the number of steps so far, including this one
///   loss            mean over the valid targets of the step's batch (Summed: their sum); NaN if there is none
///   gradient_norm   of the mean loss, before clipping; NaN or infinite if the step was skipped
///   learning_rate   of this step
///   applied         false: a gradient was not finite, and only data, schedule and loss scale advanced; or targets is
///                   0, and only data and schedule advanced
///   waited          milliseconds of these in which fit's loop waited for data
///   samples         of all ranks, computed as this rank's times the number of ranks; inexact for a short last batch
///   targets         the number of valid targets of all ranks; for SumOf, of samples; for SampleWeighted the sum of their
///                   |weights|, rounded up
///   weight          what divides the sum of their losses: that number, or the sum of their |weights|
struct StepResult {
  std::uint64_t step = 0;
  double loss = no_value, gradient_norm = no_value, learning_rate = 0, loss_scale = 1;
  bool applied = true;
  double milliseconds = 0, waited = 0;
  std::size_t samples = 0, targets = 0;
  double weight = 0;

  /// Whether a gradient that is not finite is why the step was not applied.
  constexpr bool skipped() const { return !applied && weight != 0; }
};

namespace train {
/// The results of a launch of several steps, the oldest first.
using StepResults = std::span<const StepResult>;
}  // namespace train

/// The result of an evaluation: means over all valid targets, NaN if there is none; for SumOf over all samples; for
/// Summed the sum of the loss. accuracy is NaN for losses without one. targets is as StepResult's.
struct Evaluation {
  double loss = no_value, accuracy = no_value;
  std::size_t targets = 0;
};

/// The beginning or the end of an epoch, as callbacks of fit hear it. A step belongs to the epoch of its first sample;
/// an epoch ends after the step that reads its last sample. A call of fit that resumes inside an epoch begins it again,
/// with the steps that are left; an epoch that a run does not finish does not end.
///
///   epoch     counted from 0
///   ended     false: no step of it has run yet, in this call
///   step      the Trainer's number of steps at this moment
///   steps     those of this epoch in this call; 0 of one that lies inside a single step
///   loss      as StepResult::loss, of all these steps together, each before its own update; NaN if no target was valid
///   targets   their number of valid targets
///   seconds   since its beginning, with evaluations and callbacks
struct EpochEvent {
  std::uint64_t epoch = 0, step = 0, steps = 0;
  bool ended = false;
  double loss = no_value;
  std::size_t targets = 0;
  double seconds = 0;
};

/// The result of a metric, by its name.
struct MetricValue {
  std::string name;
  double value = no_value;
};

/// What the metrics that fit was given have found. Callbacks hear it where an epoch ends, of that epoch's steps; where fit
/// evaluates, and where it ends, of the steps of the epoch so far; and after an evaluation, of that. Training is measured
/// by the outputs that the steps themselves compute, each before its own update, and with dropout.
///
///   step         the Trainer's number of steps at this moment
///   epoch        the number of the one in which they ran, in the rest that this call has run of it
///   evaluation   of the validation source; else of the training
///   ended        the epoch has ended
///   targets      of those steps, as EpochEvent counts them; of an evaluation 0: Evaluation has them
///   values       of each metric that has a name, in their order; value("accuracy") gives one, NaN if there is none
struct Measured {
  std::uint64_t step = 0, epoch = 0;
  bool evaluation = false, ended = false;
  std::size_t targets = 0;
  std::vector<MetricValue> values{};

  double value(std::string_view name) const {
    for (const MetricValue& of : values)
      if (of.name == name) return of.value;
    return no_value;
  }
};

/// The memory of the run. `peak` is the arena's; `library` is how much else the process has grown by the end of the
/// first step, mostly by allocations of product libraries, as the system reports it; on a GPU, how much of its memory
/// is taken by now, without CUDA's context. `host`: pinned memory of the host, under Checkpoint<Offload>.
struct Used {
  std::size_t peak = 0, library = 0, operations = 0, host = 0;
};

/// The result of fit.
///
///   steps             the Trainer's total number of steps
///   loss              of the last step of this call; NaN if there was none, if it had no valid
///                     target, or if training diverged
///   validation_loss   of the last evaluation of this call; NaN likewise
///   stopped_early     whether patience ended the run
///   input_share       of the time of this call's steps, in which they waited for data
///   skipped           steps of this call that changed no weight, since a gradient was not finite. Where fit shows its
///                     progress, it says so once: at the first of them, or, under LossScale<Dynamic>, to which some belong, at
///                     the end
///   workers, ahead    threads that read the data, and batches that they kept ready; as chosen, if automatic
struct Fitted {
  std::uint64_t steps = 0;
  double loss = no_value, validation_loss = no_value;
  bool stopped_early = false;
  double input_share = 0;
  std::size_t workers = 0, ahead = 0;
  std::uint64_t skipped = 0;
};

/// The loss of a micro-batch before its backward: the result of `forward` in a hand-written loop.
class UnscaledLoss {
 public:
  /// The mean over the micro-batch's valid targets; NaN if there is none.
  double value() const { return value_; }

 private:
  template <class>
  friend struct train::LoopByHand;
  UnscaledLoss(double value, std::uint64_t ticket) : value_(value), ticket_(ticket) {}
  double value_;
  std::uint64_t ticket_;
};
/// The same, scaled for backward in fp16.
class ScaledLoss {
 private:
  template <class>
  friend struct train::LoopByHand;
  explicit ScaledLoss(std::uint64_t ticket) : ticket_(ticket) {}
  std::uint64_t ticket_;
};
/// Gradients that `apply` takes.
class Gradients {
 private:
  template <class>
  friend struct train::LoopByHand;
  explicit Gradients(std::uint64_t ticket) : ticket_(ticket) {}
  std::uint64_t ticket_;
};
/// Gradients of a scaled loss; only `unscale` turns them into Gradients.
class ScaledGradients {
 private:
  template <class>
  friend struct train::LoopByHand;
  explicit ScaledGradients(std::uint64_t ticket) : ticket_(ticket) {}
  std::uint64_t ticket_;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
