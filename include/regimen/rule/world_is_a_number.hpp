// regimen/rule/world_is_a_number.hpp — World<N> takes one number, at least 1.
#pragma once

namespace regimen::rule {

/// Zero ranks train nothing, and two numbers contradict each other.   docs/errors/ranks.md#world_is_a_number
template <class World>
struct world_is_a_number {
  static constexpr bool holds = World::is_one_number;
  struct must_hold {
    static_assert(holds, "regimen: World<N> takes one number, and N >= 1; write World<4>, or leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
