// regimen/rule/options_follow_sources.hpp — after one source, or two, fit takes options.
#pragma once

namespace regimen::rule {

/// A third source, or a bare number, has no meaning to fit.   docs/errors/fit.md#options_follow_sources
template <class Third, bool Follow = false>
struct options_follow_sources {
  static constexpr bool holds = Follow;
  struct must_hold {
    static_assert(
        holds,
        "regimen: fit takes a source, perhaps one for validation, then its options; write fit(source, {.steps = 1000})");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
