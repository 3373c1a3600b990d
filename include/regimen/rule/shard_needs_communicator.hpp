// regimen/rule/shard_needs_communicator.hpp — Shard needs a Communicator.
#pragma once

#include <regimen/policy/communicator.hpp>
#include <regimen/policy/shard.hpp>

#include <type_traits>

namespace regimen::rule {

/// A single rank would keep every slice and save nothing.
/// docs/errors/ranks.md#shard_needs_communicator
template <class Shard, class Communicator>
struct shard_needs_communicator {
  static constexpr bool holds =
      (Shard::stage::level <= 0 && !Shard::has_options) || !std::is_same_v<typename Communicator::ranks, Solo>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Shard<...> says what is exchanged among ranks, and there is no Communicator; write Communicator<Threads>, <Tcp> or <Mpi>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
