// regimen/rule/operation_says_cost.hpp — each operation has a name and says what it costs.
#pragma once

namespace regimen::rule {

/// A plan adds costs up, a profile shows names.   docs/errors/extensions.md#operation_says_cost
template <class Owner, bool all_say>
struct operation_says_cost {
  static constexpr bool holds = all_say;
  struct must_hold {
    static_assert(holds, "regimen: an operation of this has no name, or no constexpr Cost cost() const; give it both");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
