// regimen/rule/anomaly_ends_a_launch.hpp — Debug<Anomaly> looks after every step.
#pragma once

#include <regimen/policy/debug.hpp>

namespace regimen::rule {

/// The step that finds an anomaly ends the run; further steps of its launch would train on.
/// docs/errors/steps.md#anomaly_ends_a_launch
template <class Steps, class Debug>
struct anomaly_ends_a_launch {
  static constexpr bool holds = Steps::count <= 1 || !Debug::template uses<Anomaly>;
  struct must_hold {
    static_assert(holds, "regimen: Debug<Anomaly> stops at the step that finds one; it needs Steps<1>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
