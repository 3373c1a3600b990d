// regimen/rule/loss_scale_at_least_one.hpp — a scale of zero erases the loss.
#pragma once

namespace regimen::rule {

/// A scale below one loses gradients, and an interval of zero never counts a step.   docs/errors/loss_scale_at_least_one.md
template <class Scale>
struct loss_scale_at_least_one {
  static constexpr bool holds = !Scale::scales || (Scale::initial >= 1.0f && (!Scale::dynamic || Scale::interval >= 1));
  struct must_hold {
    static_assert(holds, "regimen: Static<N> and DynamicScale<N, Interval> need N >= 1 and Interval >= 1; write Static<1024>, or Dynamic");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
