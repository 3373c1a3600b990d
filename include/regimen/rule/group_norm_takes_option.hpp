// regimen/rule/group_norm_takes_option.hpp — no option of GroupNorm is ignored.
#pragma once

namespace regimen::rule {

/// Holds: whether Option is one of GroupNorm's, or, of a GroupNorm, whether it has each at most once.
/// docs/errors/norms.md#group_norm_takes_option
template <class Option, bool Holds>
struct group_norm_takes_option {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(holds, "regimen: GroupNorm<N> takes Epsilon<...> at most once; write no other option");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
