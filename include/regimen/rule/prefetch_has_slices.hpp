// regimen/rule/prefetch_has_slices.hpp — what is gathered ahead is kept in slices.
#pragma once

#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// Where every rank keeps the weights whole nothing is gathered, and the option would be ignored. One unit ahead hides a gather behind the
/// unit that computes; what is further ahead would wait longer in memory, and come no sooner.
/// docs/errors/prefetch_has_slices.md
template <class Shard>
struct prefetch_has_slices {
  static constexpr bool holds = Shard::options_fit;
  struct must_hold {
    static_assert(holds,
                  "regimen: Shard<S, Prefetch<N>> gathers N = 0 or 1 units ahead, where S keeps slices of the weights; name ZeRO3 or Hybrid<K>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
