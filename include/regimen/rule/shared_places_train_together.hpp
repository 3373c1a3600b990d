// regimen/rule/shared_places_train_together.hpp — the weights of a Shared train, or they are frozen.
#pragma once

namespace regimen::rule {

/// They are one set.   docs/errors/weights.md#shared_places_train_together
template <class Name, bool Together>
struct shared_places_train_together {
  static constexpr bool holds = Together;
  struct must_hold {
    static_assert(
        holds, "regimen: all Shared of one name train together; write Frozen<...> around all of them, none, or inside");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
