// regimen/rule/one_policy_per_axis.hpp — no axis is decided twice.
#pragma once

namespace regimen::rule {

/// Two answers to one question, equal or not: which of them was meant?   docs/errors/one_policy_per_axis.md
template <class Axis, class... Claimants>
struct one_policy_per_axis {
  static constexpr bool holds = sizeof...(Claimants) < 2;
  struct must_hold {
    static_assert(holds, "regimen: two policies decide the same axis; keep one of them");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
