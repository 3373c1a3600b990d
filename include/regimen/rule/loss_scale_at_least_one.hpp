// regimen/rule/loss_scale_at_least_one.hpp — a loss scale and its interval are at least one.
#pragma once

namespace regimen::rule {

/// A scale of zero erases the loss, and an interval of zero never ends.
/// docs/errors/precision.md#loss_scale_at_least_one
template <class Scale>
struct loss_scale_at_least_one {
  static constexpr bool holds = !Scale::scales || (Scale::initial >= 1.0f && (!Scale::dynamic || Scale::interval >= 1));
  struct must_hold {
    static_assert(
        holds,
        "regimen: Static<N> and DynamicScale<N, Interval> need N >= 1 and Interval >= 1; write Static<1024>, or Dynamic");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
