// regimen/rule/communicator_is_built.hpp — refuses communicators that are declared, but not built.
#pragma once

#include <regimen/policy/communicator.hpp>

namespace regimen::rule {

/// The names are reserved; to train on one rank instead would give another result.
/// docs/errors/ranks.md#communicator_is_built
template <class Communicator>
struct communicator_is_built {
  static constexpr bool holds = Communicator::ranks::is_built;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this communicator is not built; write Communicator<Threads>, <Tcp>, <Mpi> or <Nccl>, or leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
