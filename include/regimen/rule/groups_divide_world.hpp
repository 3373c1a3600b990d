// regimen/rule/groups_divide_world.hpp — the groups of Hybrid<N> divide the world.
#pragma once

#include <regimen/policy/shard.hpp>
#include <regimen/policy/world.hpp>

#include <cstddef>

namespace regimen {

namespace detail {
template <std::size_t ranks, class Stage>
inline constexpr bool groups_divide = true;
template <std::size_t ranks, std::size_t N>
inline constexpr bool groups_divide<ranks, Hybrid<N>> = N >= 2 && ranks % (N > 0 ? N : 1) == 0;
}  // namespace detail

namespace rule {

/// Hybrid<N> cuts the ranks into groups of N ≥ 2. Under World<> the Trainer's constructor checks this.
/// docs/errors/ranks.md#groups_divide_world
template <class Shard, class World>
struct groups_divide_world {
  static constexpr bool holds = regimen::detail::groups_divide<World::ranks, typename Shard::stage>;
  struct must_hold {
    static_assert(holds, "regimen: Hybrid<N> makes groups of N ranks; write an N of at least 2 that divides the World");
  };
};

}  // namespace rule
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
