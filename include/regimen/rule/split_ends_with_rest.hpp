// regimen/rule/split_ends_with_rest.hpp — a Split has groups, and ends with Rest.
#pragma once

namespace regimen::rule {

/// optimizer/split.hpp says what a group is.   docs/errors/options.md#split_ends_with_rest
template <class UpdateRule, bool Holds = false>
struct split_ends_with_rest {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Split<...> lacks groups; give it up to three, such as Matrices<Muon>, and end with Rest<AdamW>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
