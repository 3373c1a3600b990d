// regimen/rule/choice_stands_before_random.hpp — what is chosen once is chosen by values that do not change.
#pragma once

namespace regimen::rule {

/// A value behind a stage that draws is another in each epoch; which value stands at a place behind a mixture, too.
/// docs/errors/data.md#choice_stands_before_random
template <class D, bool stays_the_same>
struct choice_stands_before_random {
  static constexpr bool holds = stays_the_same;
  struct must_hold {
    static_assert(
        holds, "regimen: filter, by_length and split choose once; put them before a random stage, or before mixture");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
