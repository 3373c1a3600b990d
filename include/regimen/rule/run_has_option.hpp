// regimen/rule/run_has_option.hpp — fit takes the options of Run.
#pragma once

namespace regimen::rule {

/// Many names mean a number of steps or epochs; Run has one for each.   docs/errors/run_has_option.md
template <class Run, bool Has = false>
struct run_has_option {
  static constexpr bool holds = Has;
  struct must_hold {
    static_assert(holds, "regimen: fit takes .steps and .epochs, of the whole run; write fit(source, {.steps = 1000})");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
