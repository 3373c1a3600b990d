// regimen/rule/shard_needs_ranks.hpp — Shard needs several ranks.
#pragma once

#include <regimen/policy/shard.hpp>
#include <regimen/policy/world.hpp>

namespace regimen::rule {

/// A single rank would keep every slice and save nothing.   docs/errors/ranks.md#shard_needs_ranks
template <class Shard, class World>
struct shard_needs_ranks {
  static constexpr bool holds = (Shard::stage::level <= 0 && !Shard::has_options) || World::ranks != 1;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Shard<...> says what is exchanged among ranks, and World<1> is one; write more, or leave World out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
