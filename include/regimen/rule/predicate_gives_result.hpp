// regimen/rule/predicate_gives_result.hpp — what chooses values says so in a type that can be read.
#pragma once

namespace regimen::rule {

/// docs/errors/data.md#predicate_gives_result
template <class Result, bool suits>
struct predicate_gives_result {
  static constexpr bool holds = suits;
  struct must_hold {
    static_assert(
        holds, "regimen: filter wants a bool of f, by_length a number, split(by) a string or an integer; return that");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
