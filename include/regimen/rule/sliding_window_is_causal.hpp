// regimen/rule/sliding_window_is_causal.hpp — a sliding window ends at the position itself.
#pragma once

namespace regimen::rule {

/// Attention has a SlidingWindow. IsCausal: and Causal.   docs/errors/attention.md#sliding_window_is_causal
template <class Attention, bool IsCausal>
struct sliding_window_is_causal {
  static constexpr bool holds = IsCausal;
  struct must_hold {
    static_assert(holds, "regimen: SlidingWindow<N> is the N positions up to a position itself; add Causal");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
