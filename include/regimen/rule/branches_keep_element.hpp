// regimen/rule/branches_keep_element.hpp — numbers and tokens are not joined.
#pragma once

namespace regimen::rule {

/// Numbers: whether all branches end with numbers, or none does.   docs/errors/branches.md#branches_keep_element
template <class Fork, bool Numbers = false>
struct branches_keep_element {
  static constexpr bool holds = Numbers;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a branch of this Fork ends with tokens and another with numbers; put Embedding<...> at its end");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
