// regimen/rule/step_takes_targets.hpp — a step learns from inputs and targets.
#pragma once

namespace regimen::rule {

/// Inputs alone have no loss.   docs/errors/trainers.md#step_takes_targets
template <class Inputs, bool Takes = false>
struct step_takes_targets {
  static constexpr bool holds = Takes;
  struct must_hold {
    static_assert(
        holds, "regimen: a step takes inputs and targets; write step(inputs, targets), or predict(inputs) for outputs");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
