// regimen/rule/target_takes_bound.hpp — what follows the target in Target<...> is a bound.
#pragma once

namespace regimen::rule {

/// Target<Unaligned<...>, targets::h100> has its arguments in the wrong order.
/// docs/errors/targets.md#target_takes_bound
template <class Bound, bool is_bound>
struct target_takes_bound {
  static constexpr bool holds = is_bound;
  struct must_hold {
    static_assert(
        holds, "regimen: Target<T, ...> takes the target first, then a bound; name Unaligned<Ratio<1, 100>>, or none");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
