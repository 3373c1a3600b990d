// regimen/rule/communicator_is_built.hpp — communicators that are declared and not built.
#pragma once

#include <regimen/policy/communicator.hpp>

#include <type_traits>

namespace regimen::rule {

/// The names are reserved; going on alone instead would train something else.   docs/errors/communicator_is_built.md
template <class Communicator>
struct communicator_is_built {
  static constexpr bool holds = std::is_same_v<typename Communicator::ranks, Solo>;
  struct must_hold {
    static_assert(holds, "regimen: Communicator<Solo> is the only one built yet; write it, or leave Communicator out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
