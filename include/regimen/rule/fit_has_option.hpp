// regimen/rule/fit_has_option.hpp — fit takes the options of FitOptions.
#pragma once

namespace regimen::rule {

/// Other libraries have many names for a number of steps or epochs; FitOptions has one for each.
/// docs/errors/fit_has_option.md
template <class FitOptions, bool Has = false>
struct fit_has_option {
  static constexpr bool holds = Has;
  struct must_hold {
    static_assert(holds, "regimen: fit takes .steps and .epochs, of the whole run; write fit(source, {.steps = 1000})");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
