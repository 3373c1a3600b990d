// regimen/rule/debug_none_stands_alone.hpp — Debug<...> has None or checks, not both.
#pragma once

#include <regimen/policy/debug.hpp>

namespace regimen::rule {

/// Debug<None, Anomaly> contradicts itself.   docs/errors/steps.md#debug_none_stands_alone
template <class Debug>
struct debug_none_stands_alone;

template <class... Checks>
struct debug_none_stands_alone<Debug<Checks...>> {
  static constexpr bool holds = sizeof...(Checks) < 2 || !detail::is_any_of<None, Checks...>;
  struct must_hold {
    static_assert(holds, "regimen: Debug<...> takes None or checks, not both; take None out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
