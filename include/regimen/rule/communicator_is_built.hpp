// regimen/rule/communicator_is_built.hpp — communicators that are declared and not built.
#pragma once

#include <regimen/policy/communicator.hpp>

namespace regimen::rule {

/// The names are reserved; going on alone instead would train something else.   docs/errors/communicator_is_built.md
template <class Communicator>
struct communicator_is_built {
  static constexpr bool holds = Communicator::ranks::is_built;
  struct must_hold {
    static_assert(holds, "regimen: this communicator is not built; write Communicator<Threads>, <Tcp> or <Mpi>, or leave it out for one rank");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
