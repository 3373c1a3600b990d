// regimen/train/result.hpp — what a Trainer answers, and the tokens of a loop written by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace regimen {

template <class Network, class... Policies>
class Trainer;

/// What one optimizer step did.
///
///   step            steps done so far, this one included
///   loss            mean over the valid targets of the step's batch
///   gradient_norm   of the mean loss, before clipping; NaN or infinite if the step was skipped
///   learning_rate   that this step used
///   applied         false: a gradient was not finite, and nothing moved but data, schedule and loss scale; or no target was
///                   valid (ignore_index), and nothing moved but data and schedule: loss and norm are 0 then
///   samples         of all ranks; counted as this rank's times their number, which the last, short batch of an epoch may miss
struct StepResult {
  std::uint64_t step = 0;
  double loss = 0, gradient_norm = 0, learning_rate = 0, loss_scale = 1;
  bool applied = true;
  double milliseconds = 0;
  std::size_t samples = 0;
};

/// What an evaluation found: means over all valid targets. accuracy is for losses that have one, else NaN.
struct Evaluation {
  double loss = 0, accuracy = std::numeric_limits<double>::quiet_NaN();
  std::size_t targets = 0;
};

/// What the run took. `peak` counts the arena; `library` is what the process grew beside it, allocations of product
/// libraries above all, read from the system after the first step.
struct Used {
  std::size_t peak = 0, library = 0, operations = 0;
};

/// How fit ended.
struct Fitted {
  std::uint64_t steps = 0;
  double loss = 0, validation_loss = std::numeric_limits<double>::quiet_NaN();
  bool stopped_early = false;
};

/// The loss of a micro-batch whose backward has not run: what `forward` returns in a hand-written loop.
class UnscaledLoss {
 public:
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
