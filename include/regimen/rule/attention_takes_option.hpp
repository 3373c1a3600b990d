// regimen/rule/attention_takes_option.hpp — no option of SelfAttention is ignored.
#pragma once

namespace regimen::rule {

/// If a misplaced Causal were ignored, the model would train and learn to look ahead.
/// Known: whether Option is one of SelfAttention's options.   docs/errors/attention.md#attention_takes_option
template <class Option, bool Known = false>
struct attention_takes_option {
  static constexpr bool holds = Known;
  struct must_hold {
    static_assert(
        holds,
        "regimen: SelfAttention takes Heads<N> first, then its own options, as Causal or Rotary<>; write no other option");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
