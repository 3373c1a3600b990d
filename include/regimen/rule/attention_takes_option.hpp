// regimen/rule/attention_takes_option.hpp — no option of SelfAttention is ignored.
#pragma once

namespace regimen::rule {

/// Attention that is not Causal because the word stood in the wrong place would train, and learn to look ahead.
/// Known: whether Option is what stands there.   docs/errors/attention_takes_option.md
template <class Option, bool Known = false>
struct attention_takes_option {
  static constexpr bool holds = Known;
  struct must_hold {
    static_assert(holds, "regimen: SelfAttention takes Heads<N> first, then Causal and Dropout<Ratio<...>>; write no other option");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
