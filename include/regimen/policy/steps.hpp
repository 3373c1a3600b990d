// regimen/policy/steps.hpp — how many steps one launch runs.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// Decides how many optimizer steps `fit` launches together. The host copies the batches of all K steps;
/// then a GPU runs the steps as one graph, without the host. Every K gives the same bits: the device computes the
/// numbers that change from step to step.
///
///   choices   Steps<K> with K >= 1
///   default   Steps<1>
///   refuses   Steps<0>; K > 1 with Debug<Anomaly>, which stops at a step, or with a callback of fit that takes the
///             result of one step: after each launch fit calls callbacks of `std::span<const StepResult>`
///   alone     a step runs by itself if fewer than K full batches are left in the epoch, in the run, or before the next
///             evaluation; also in Trainer::step and in a loop by hand
///   cost      memory for the batches of a launch (twice, on a device that copies while it computes); the plan has it
///   effect    programs/recipe.hpp (steps), trainers/fit.hpp (start_launch), programs/step.hpp (launch)
///
/// source      Keras' steps_per_execution
template <std::size_t K>
struct Steps final {
  using axis = regimen::axis::steps;
  static constexpr std::size_t count = K;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
