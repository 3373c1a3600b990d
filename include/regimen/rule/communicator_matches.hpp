// regimen/rule/communicator_matches.hpp — a Trainer is given the communicator that its recipe names.
#pragma once

namespace regimen::rule {

/// Known: whether Given is a communicator of the kind that Communicator<...> names.
/// docs/errors/trainers.md#communicator_matches
template <class Given, class Communicator, bool Known = false>
struct communicator_matches {
  static constexpr bool holds = Known;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this communicator is not the one that the recipe names; write its Communicator<...>, or hand over another");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
