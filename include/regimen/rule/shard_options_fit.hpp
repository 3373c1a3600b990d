// regimen/rule/shard_options_fit.hpp — what is gathered ahead, or kept, was in slices.
#pragma once

#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// Where every rank keeps the weights whole nothing is gathered, and these options would be ignored. One unit ahead hides a gather behind the
/// unit that computes; what is further ahead would wait longer in memory, and come no sooner.
/// docs/errors/shard_options_fit.md
template <class Shard>
struct shard_options_fit {
  static constexpr bool holds = Shard::options_fit;
  struct must_hold {
    static_assert(holds,
                  "regimen: Shard<S, ...> takes Prefetch<0> or <1>, and KeepSegments, where S keeps slices of the weights; name ZeRO3 or Hybrid<K>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
