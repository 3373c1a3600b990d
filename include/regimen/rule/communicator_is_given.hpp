// regimen/rule/communicator_is_given.hpp — a Trainer of several ranks is given a communicator.
#pragma once

namespace regimen::rule {

/// launch, comm::Tcp and comm::Mpi provide it.   docs/errors/trainers.md#communicator_is_given
template <class Communicator, bool Given = false>
struct communicator_is_given {
  static constexpr bool holds = Given;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a recipe with Communicator<...> needs a communicator object; write Train trainer(communicator)");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
