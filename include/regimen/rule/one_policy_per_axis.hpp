// regimen/rule/one_policy_per_axis.hpp — at most one policy decides an axis.
#pragma once

namespace regimen::rule {

/// Two policies of one axis, equal or not, leave open which one is meant.
/// docs/errors/arguments.md#one_policy_per_axis
template <class Axis, class... Claimants>
struct one_policy_per_axis {
  static constexpr bool holds = sizeof...(Claimants) < 2;
  struct must_hold {
    static_assert(holds, "regimen: two policies decide the same axis; keep one of them");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
