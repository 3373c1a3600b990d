// regimen/rule/world_needs_communicator.hpp — several ranks need a Communicator.
#pragma once

#include <regimen/policy/communicator.hpp>
#include <regimen/policy/world.hpp>

#include <type_traits>

namespace regimen::rule {

/// Communicator<Solo> has one rank.
/// docs/errors/ranks.md#world_needs_communicator
template <class World, class Communicator>
struct world_needs_communicator {
  static constexpr bool holds = World::ranks <= 1 || !std::is_same_v<typename Communicator::ranks, Solo>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: World<N> has several ranks, and there is no Communicator; write Communicator<Threads>, <Tcp> or <Mpi>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
