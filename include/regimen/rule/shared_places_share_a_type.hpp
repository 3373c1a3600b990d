// regimen/rule/shared_places_share_a_type.hpp — the weights of a Shared have one element type.
#pragma once

namespace regimen::rule {

/// They are stored once, in the type in which their layers compute.   docs/errors/weights.md#shared_places_share_a_type
template <class Name, bool Shares>
struct shared_places_share_a_type {
  static constexpr bool holds = Shares;
  struct must_hold {
    static_assert(
        holds,
        "regimen: all Shared of one name compute in one type; write As<T, ...> around all of them, none, or inside");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
