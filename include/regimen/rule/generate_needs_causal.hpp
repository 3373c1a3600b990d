// regimen/rule/generate_needs_causal.hpp — generate needs a causal model.
#pragma once

namespace regimen::rule {

/// IsCausal: whether no SelfAttention, Conv1d and GroupNorm of the model reads later positions.
/// docs/errors/texts.md#generate_needs_causal
template <class Network, bool IsCausal>
struct generate_needs_causal {
  static constexpr bool holds = IsCausal;
  struct must_hold {
    static_assert(
        holds,
        "regimen: generate needs layers that read no later position; write Causal, CausalPadding, LayerNorm for GroupNorm");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
