// regimen/rule/measured_run_has_no_debug.hpp — benchmarks measure the step and nothing else.
#pragma once

#include <regimen/policy/debug.hpp>

namespace regimen::rule {

/// A check reads every activation once more; a time taken with it is not the time of the step.   docs/errors/measured_run_has_no_debug.md
template <class Debug>
struct measured_run_has_no_debug {
  static constexpr bool holds = !Debug::checks;
  struct must_hold {
    static_assert(holds, "regimen: Debug<...> slows the run that this program measures; take it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
