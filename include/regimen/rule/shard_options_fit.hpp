// regimen/rule/shard_options_fit.hpp — no option of a Shard is ignored.
#pragma once

#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// Where ranks keep whole weights nothing is gathered, and where they keep slices of gradients each unit is reduced by
/// itself: options about these would be ignored. Prefetching one unit hides its gather behind compute; prefetching more
/// would take memory and gain no time.   docs/errors/ranks.md#shard_options_fit
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
