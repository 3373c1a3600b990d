// regimen/rule/combinator_has_walker.hpp — a combinator has a walker.
#pragma once

namespace regimen::rule {

/// walk/node.hpp lists a walker's members.   docs/errors/extensions.md#combinator_has_walker
template <class Layer, bool Walked>
struct combinator_has_walker {
  static constexpr bool holds = Walked;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a combinator has no walker, or a part of one; specialise walk::Node with all that walk/node.hpp lists");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
