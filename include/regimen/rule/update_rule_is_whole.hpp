// regimen/rule/update_rule_is_whole.hpp — an update rule has all members that a step uses.
#pragma once

namespace regimen::rule {

/// policy/optimizer.hpp lists these members.   docs/errors/extensions.md#update_rule_is_whole
template <class UpdateRule, bool Whole = false>
struct update_rule_is_whole {
  static constexpr bool holds = Whole;
  struct must_hold {
    static_assert(
        holds,
        "regimen: an update rule has Options::learning_rate, Coefficients<S>, both corrections, and update; give it all");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
