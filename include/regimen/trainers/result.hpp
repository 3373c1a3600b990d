// regimen/trainers/result.hpp — the results of a Trainer, and the types of a loop written by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regimen {

namespace trainers {
template <class Session>
struct LoopByHand;
}  // namespace trainers

/// The value of a loss, a norm or an accuracy without a valid target (ignore_index), or without a step.
inline constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
/// The mean over valid targets.
constexpr double mean_of(double sum, double count) { return count > 0 ? sum / count : no_value; }
namespace trainers {
/// A number of targets, or a sum of weights, rounded up: 0 only if there is none.
constexpr std::size_t whole_targets(double count) {
  const auto below = static_cast<std::size_t>(count);
  return below + (static_cast<double>(below) < count ? 1 : 0);
}
}  // namespace trainers

/// The result of one optimizer step.
///
///   step            the number of steps so far, including this one
///   loss            mean over the valid targets of the step's batch (Summed: their sum); NaN without a valid target
///   gradient_norm   of the mean loss, before clipping; NaN or infinite if the step was skipped
///   learning_rate   of this step
///   applied         false: a gradient was not finite, and only data, schedule and loss scale advanced; or targets is
///                   0, and only data and schedule advanced
///   waited          the part of `milliseconds` in which fit's loop waited for data
///   samples         of all ranks: this rank's samples times the number of ranks; inexact for a short last batch
///   targets         the number of valid targets of all ranks; for SumOf the number of samples; for SampleWeighted the
///                   sum of |weights|, rounded up
///   weight          the divisor of the sum of losses: the number of valid targets, or the sum of |weights|
struct StepResult {
  std::uint64_t step = 0;
  double loss = no_value, gradient_norm = no_value, learning_rate = 0, loss_scale = 1;
  bool applied = true;
  double milliseconds = 0, waited = 0;
  std::size_t samples = 0, targets = 0;
  double weight = 0;

  /// Whether the step was not applied because a gradient was not finite.
  constexpr bool skipped() const { return !applied && weight != 0; }
};

namespace trainers {
/// The results of a launch of several steps, the oldest first.
using StepResults = std::span<const StepResult>;
}  // namespace trainers

/// The result of an evaluation: means over all valid targets, NaN without one; for SumOf means over all samples; for
/// Summed the sum of the loss. accuracy is NaN for losses without an accuracy. targets: as in StepResult.
struct Evaluation {
  double loss = no_value, accuracy = no_value;
  std::size_t targets = 0;
};

/// The beginning or the end of an epoch, for callbacks of fit. A step belongs to the epoch of its first sample; an
/// epoch ends after the step that reads its last sample. If a call of fit resumes inside an epoch, the epoch begins
/// again, with the remaining steps. An epoch that a run does not finish has no end.
///
///   epoch     counted from 0
///   ended     false: the epoch begins, before its first step of this call; true: it ends
///   step      the Trainer's number of steps at this moment
///   steps     the number of steps of this epoch in this call; 0 for an epoch inside a single step
///   loss      StepResult::loss over all these steps, each before its own update; NaN without a valid target
///   targets   the number of valid targets in these steps
///   seconds   since the beginning of the epoch, with evaluations and callbacks
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

/// The results of fit's metrics. Callbacks hear the results of training at the end of an epoch, for its steps, and
/// before an evaluation and at the end of fit, for the steps of the epoch so far; they hear the results of an
/// evaluation after it. Metrics of training measure the outputs of the steps themselves, each before its own update,
/// and with dropout.
///
///   step         the Trainer's number of steps at this moment
///   epoch        the number of the epoch of these steps; only steps of this call count
///   evaluation   true: results of the validation source; false: of training
///   ended        the epoch has ended
///   targets      of these steps, as EpochEvent counts them; 0 for an evaluation, whose Evaluation has them
///   values       of each metric with a name, in their order; value("accuracy") gives one of them, NaN if there is none
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

/// The memory of the run.
///
///   peak      bytes of the arena
///   library   on the CPU: the other growth of the process until the end of the first step, as the system reports it,
///             mostly memory of product libraries; on a GPU: its other memory in use, without CUDA's context
///   operations   the number of operations that have run
///   host      pinned memory of the host, under Checkpoint<Offload>
struct Used {
  std::size_t peak = 0, library = 0, operations = 0, host = 0;
};

/// The result of fit.
///
///   steps             the Trainer's total number of steps
///   loss              of the last step of this call; NaN without a step, without a valid target, or if training
///                     diverged
///   validation_loss   of the last evaluation of this call; NaN in the cases of `loss`
///   stopped_early     whether patience ended the run
///   input_share       the share of the time of this call's steps that was spent waiting for data
///   skipped           the number of steps of this call that changed no weight because a gradient was not finite. If
///                     fit shows progress, it prints this once: at the first of them, or, under LossScale<Dynamic>,
///                     which skips some by design, at the end
///   workers, ahead    the number of threads that read the data, and of batches that they kept ready; with automatic
///                     workers fit's choice
struct Fitted {
  std::uint64_t steps = 0;
  double loss = no_value, validation_loss = no_value;
  bool stopped_early = false;
  double input_share = 0;
  std::size_t workers = 0, ahead = 0;
  std::uint64_t skipped = 0;
};

namespace trainers {
/// A result of a loop by hand, by its number: only the loop makes and reads it.
class Ticket {
  template <class>
  friend struct LoopByHand;

 protected:
  explicit Ticket(std::uint64_t number) : ticket_(number) {}
  std::uint64_t ticket_;
};
}  // namespace trainers

/// The loss of a micro-batch before its backward: the result of `forward` in a hand-written loop.
class UnscaledLoss : public trainers::Ticket {
 public:
  /// The mean over the micro-batch's valid targets; NaN without one.
  double value() const { return value_; }

 private:
  template <class>
  friend struct trainers::LoopByHand;
  UnscaledLoss(double value, std::uint64_t ticket) : Ticket(ticket), value_(value) {}
  double value_;
};
/// The loss of a micro-batch, scaled for backward in fp16.
class ScaledLoss : public trainers::Ticket {
  using Ticket::Ticket;
};
/// Gradients that `apply` takes.
class Gradients : public trainers::Ticket {
  using Ticket::Ticket;
};
/// Gradients of a scaled loss; only `unscale` turns them into Gradients.
class ScaledGradients : public trainers::Ticket {
  using Ticket::Ticket;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
