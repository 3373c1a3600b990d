// regimen/rule/shard_options_fit.hpp — an option of a Shard changes something.
#pragma once

#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// Where every rank keeps the weights whole nothing is gathered, where gradients are kept in slices each unit is cut by itself, and options about
/// these would be ignored. One unit ahead hides a gather behind the unit that computes; what is further ahead would wait longer in memory, and come
/// no sooner. docs/errors/shard_options_fit.md
template <class Shard>
struct shard_options_fit {
  static constexpr bool holds = Shard::options_fit;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this Shard<...> would ignore an option; Prefetch<0|1> and KeepSegments are for ZeRO3 and Hybrid, Bucket<1 or more> for Replicated");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
