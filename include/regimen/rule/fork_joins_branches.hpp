// regimen/rule/fork_joins_branches.hpp — a Fork has a join and two branches or more.
#pragma once

namespace regimen::rule {

/// Joins: whether the first argument is a join; Holds: and whether there are branches enough.
/// docs/errors/branches.md#fork_joins_branches
template <class Fork, bool Holds>
struct fork_joins_branches {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(holds, "regimen: a Fork has a join, then two branches or more; write Fork<Add, A, B>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
