// regimen/rule/cache_stands_before_random.hpp — a cache keeps only what is the same in every epoch.
#pragma once

namespace regimen::rule {

/// docs/errors/data.md#cache_stands_before_random
template <class D, bool stays_the_same>
struct cache_stands_before_random {
  static constexpr bool holds = stays_the_same;
  struct must_hold {
    static_assert(holds, "regimen: cache() would freeze what changes with the epoch; put it before the random stage");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
