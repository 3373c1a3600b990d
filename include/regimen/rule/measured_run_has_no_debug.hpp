// regimen/rule/measured_run_has_no_debug.hpp — benchmarks measure the step alone.
#pragma once

#include <regimen/policy/debug.hpp>

namespace regimen::rule {

/// A check reads every activation once more, so its time would count as the step's.
/// docs/errors/steps.md#measured_run_has_no_debug
template <class Debug>
struct measured_run_has_no_debug {
  static constexpr bool holds = !Debug::checks;
  struct must_hold {
    static_assert(holds, "regimen: Debug<...> slows the run that this program measures; take it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
