// regimen/train/result.hpp — what a Trainer answers, and the tokens of a loop written by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace regimen {

template <class Network, class... Policies>
class Trainer;

/// The mean of nothing: a loss, a norm or an accuracy where no target was valid (ignore_index), or where nothing ran.
inline constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
/// A mean over valid targets.
constexpr double mean_of(double sum, double count) { return count > 0 ? sum / count : no_value; }

/// What one optimizer step did.
///
///   step            steps done so far, this one included
///   loss            mean over the valid targets of the step's batch; NaN if there is none
///   gradient_norm   of the mean loss, before clipping; NaN or infinite if the step was skipped
///   learning_rate   that this step used
///   applied         false: a gradient was not finite, and nothing moved but data, schedule and loss scale; or targets is 0, and
///                   nothing moved but data and schedule
///   samples         of all ranks; counted as this rank's times their number, which the last, short batch of an epoch may miss
///   targets         that were valid, of all ranks
struct StepResult {
  std::uint64_t step = 0;
  double loss = no_value, gradient_norm = no_value, learning_rate = 0, loss_scale = 1;
  bool applied = true;
  double milliseconds = 0;
  std::size_t samples = 0, targets = 0;
};

/// What an evaluation found: means over all valid targets, NaN if there is none. accuracy is for losses that have one, else NaN.
struct Evaluation {
  double loss = no_value, accuracy = no_value;
  std::size_t targets = 0;
};

/// What the run took. `peak` counts the arena; `library` is what the process grew beside it, allocations of product
/// libraries above all, read from the system after the first step.
struct Used {
  std::size_t peak = 0, library = 0, operations = 0;
};

/// How fit ended.
///
///   steps             that the Trainer has done in all
///   loss              of the last step of this call: NaN if there was none, if it had no valid target, or if training diverged
///   validation_loss   of the last evaluation of this call; NaN likewise
///   stopped_early     by patience
struct Fitted {
  std::uint64_t steps = 0;
  double loss = no_value, validation_loss = no_value;
  bool stopped_early = false;
};

/// The loss of a micro-batch whose backward has not run: what `forward` returns in a hand-written loop.
class UnscaledLoss {
 public:
  /// Mean over the micro-batch's valid targets; NaN if there is none.
  double value() const { return value_; }

 private:
  template <class, class...>
  friend class Trainer;
  UnscaledLoss(double value, std::uint64_t ticket) : value_(value), ticket_(ticket) {}
  double value_;
  std::uint64_t ticket_;
};
/// The same, scaled for backward in fp16.
class ScaledLoss {
 private:
  template <class, class...>
  friend class Trainer;
  explicit ScaledLoss(std::uint64_t ticket) : ticket_(ticket) {}
  std::uint64_t ticket_;
};
/// Gradients that an update rule may see.
class Gradients {
 private:
  template <class, class...>
  friend class Trainer;
  explicit Gradients(std::uint64_t ticket) : ticket_(ticket) {}
  std::uint64_t ticket_;
};
/// Gradients of a scaled loss; only `unscale` makes Gradients of them.
class ScaledGradients {
 private:
  template <class, class...>
  friend class Trainer;
  explicit ScaledGradients(std::uint64_t ticket) : ticket_(ticket) {}
  std::uint64_t ticket_;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
