// regimen/rule/profile_needs_debug.hpp — profile() needs Debug<Profile>.
#pragma once

#include <regimen/policy/debug.hpp>

namespace regimen::rule {

/// Without Debug<Profile> a Trainer measures nothing.   docs/errors/trainers.md#profile_needs_debug
template <class Debug>
struct profile_needs_debug {
  static constexpr bool holds = Debug::template uses<Profile>;
  struct must_hold {
    static_assert(holds, "regimen: profile() reads what Debug<Profile> measures; add Debug<Profile> to the policies");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
