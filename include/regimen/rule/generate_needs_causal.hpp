// regimen/rule/generate_needs_causal.hpp — generate needs a causal model.
#pragma once

namespace regimen::rule {

/// IsCausal: whether no SelfAttention and no Conv1d of the model reads later positions.   docs/errors/generate_needs_causal.md
template <class Network, bool IsCausal>
struct generate_needs_causal {
  static constexpr bool holds = IsCausal;
  struct must_hold {
    static_assert(holds,
                  "regimen: generate needs a model that does not look ahead; write SelfAttention<..., Causal>, Conv1d<..., CausalPadding>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
