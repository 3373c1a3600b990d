// regimen/rule/join_goes_both_ways.hpp — a join has all members that a step uses.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// layer/join.hpp lists these members.   docs/errors/extensions.md#join_goes_both_ways
template <class Join, std::size_t Branches, bool Whole>
struct join_goes_both_ways {
  static constexpr bool holds = Whole;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a join's of<Outputs...>, of this many, has Output, reads_values, forward and backward; give all");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
