// regimen/rule/reduction_needs_communicator.hpp — ReduceOnce and ReduceEach need a Communicator.
#pragma once

#include <regimen/policy/accumulate.hpp>
#include <regimen/policy/communicator.hpp>

#include <type_traits>

namespace regimen::rule {

/// A single rank reduces nothing, so the option would be ignored.   docs/errors/ranks.md#reduction_needs_communicator
template <class Accumulate, class Communicator>
struct reduction_needs_communicator {
  static constexpr bool holds = Accumulate::answers == 0 || !std::is_same_v<typename Communicator::ranks, Solo>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: ReduceOnce and ReduceEach say when ranks sum gradients; write Communicator<...>, or Accumulate<N> alone");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
