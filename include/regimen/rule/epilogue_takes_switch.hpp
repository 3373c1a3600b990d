// regimen/rule/epilogue_takes_switch.hpp — the options of Epilogue are Fused and Separate.
#pragma once

#include <regimen/policy/fusion.hpp>
#include <regimen/policy/policy.hpp>

namespace regimen::rule {

/// Epilogue<Unfused> would be Fusion<Unfused>, or only half of it.   docs/errors/options.md#epilogue_takes_switch
template <class Switch>
struct epilogue_takes_switch {
  static constexpr bool holds = detail::is_any_of<Switch, Fused, Separate>;
  struct must_hold {
    static_assert(holds, "regimen: Epilogue<...> takes a switch; name Fused or Separate");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
