// regimen/rule/update_rule_states_agree.hpp — an update rule gives one number of states.
#pragma once

namespace regimen::rule {

/// Agree: whether state_names and the array of update have `states` elements.
/// docs/errors/extensions.md#update_rule_states_agree
template <class UpdateRule, bool Agree = false>
struct update_rule_states_agree {
  static constexpr bool holds = Agree;
  struct must_hold {
    static_assert(
        holds,
        "regimen: an update rule counts its states differently; let states, state_names and the array of update agree");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
