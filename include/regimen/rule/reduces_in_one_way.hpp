// regimen/rule/reduces_in_one_way.hpp — Accumulate takes ReduceOnce or ReduceEach.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// ReduceOnce and ReduceEach contradict each other; the same one twice is redundant.
/// docs/errors/ranks.md#reduces_in_one_way
template <class Accumulate>
struct reduces_in_one_way {
  static constexpr bool holds = Accumulate::answers <= 1;
  struct must_hold {
    static_assert(holds, "regimen: Accumulate<N, ...> takes ReduceOnce or ReduceEach; keep one of them");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
