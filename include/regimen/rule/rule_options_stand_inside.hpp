// regimen/rule/rule_options_stand_inside.hpp — the options of the update rule stand one level deeper.
#pragma once

namespace regimen::rule {

/// The outer level is for the Trainer's own options: schedule, seed, threads.
/// docs/errors/run_options.md#rule_options_stand_inside
template <class RuleOptions, bool Taken = false>
struct rule_options_stand_inside {
  static constexpr bool holds = Taken;
  struct must_hold {
    static_assert(
        holds,
        "regimen: these options are the update rule's; write them inside, Train trainer{{.optimizer = {.learning_rate = 1e-3}}}");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
