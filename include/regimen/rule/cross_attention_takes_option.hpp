// regimen/rule/cross_attention_takes_option.hpp — no option of CrossAttention is ignored.
#pragma once

namespace regimen::rule {

/// Positions of two texts have no order, so there is no Causal, no Rotary, and no bias of distances.
/// Known: whether Option is one of CrossAttention's options.   docs/errors/attention.md#cross_attention_takes_option
template <class Option, bool Known = false>
struct cross_attention_takes_option {
  static constexpr bool holds = Known;
  struct must_hold {
    static_assert(
        holds,
        "regimen: CrossAttention<Name, Heads<N>, ...> takes options that are not about positions; write no other option");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
