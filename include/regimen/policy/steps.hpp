// regimen/policy/steps.hpp — how many steps one launch runs.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// Decides how many optimizer steps `fit` gives the device at once. Their batches are copied there first; then a GPU
/// runs all of them as one graph, without the host. Every K gives the same bits: what changes from step to step is
/// computed on the device.
///
///   choices   Steps<K> with K >= 1
///   default   Steps<1>
///   refuses   Steps<0>; K > 1 with Debug<Anomaly>, which stops at a step; with a callback of fit that takes the result
///             of one step: fit calls a callback of `std::span<const StepResult>` after each launch
///   runs      a step alone, where fewer than K full batches are left before the end of an epoch, of the run, or before
///             the next evaluation; in Trainer::step and in a loop by hand
///   cost      memory for the batches of a launch (twice, on a device that copies while it computes), in the plan
///   effect    program/recipe.hpp (steps), train/fit.hpp (start_launch), program/step.hpp (launch)
///
/// source      Keras' steps_per_execution
template <std::size_t K>
struct Steps final {
  using axis = regimen::axis::steps;
  static constexpr std::size_t count = K;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
