// regimen/rule/profile_needs_debug.hpp — what was not measured cannot be read.
#pragma once

#include <regimen/policy/debug.hpp>

namespace regimen::rule {

/// trainer.profile() of a Trainer that times nothing.   docs/errors/profile_needs_debug.md
template <class Debug>
struct profile_needs_debug {
  static constexpr bool holds = Debug::template uses<Profile>;
  struct must_hold {
    static_assert(holds, "regimen: profile() reads what Debug<Profile> measures; add Debug<Profile> to the policies");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
