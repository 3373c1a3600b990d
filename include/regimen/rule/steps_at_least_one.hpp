// regimen/rule/steps_at_least_one.hpp — a launch has at least one step.
#pragma once

namespace regimen::rule {

/// A launch without a step would train nothing.   docs/errors/steps.md#steps_at_least_one
template <class Steps>
struct steps_at_least_one {
  static constexpr bool holds = Steps::count >= 1;
  struct must_hold {
    static_assert(holds, "regimen: Steps<K> needs K >= 1; write Steps<1>, or leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
