// regimen/rule/bundle_holds_kinds.hpp — what a Bundle is made of.
#pragma once

namespace regimen::rule {

/// A Bundle has a value, and each is of a kind that is no Bundle. Kinds: whether it is so.
/// docs/errors/branches.md#bundle_holds_kinds
template <class Bundle, bool Kinds = false>
struct bundle_holds_kinds {
  static constexpr bool holds = Kinds;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a Bundle holds Tokens, Vector, Series, Image, Volume; write one or more, and no Bundle among them");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
