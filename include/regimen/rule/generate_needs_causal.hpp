// regimen/rule/generate_needs_causal.hpp — what follows a token is not known when it is drawn.
#pragma once

namespace regimen::rule {

/// IsCausal: whether every SelfAttention of the model is.   docs/errors/generate_needs_causal.md
template <class Network, bool IsCausal>
struct generate_needs_causal {
  static constexpr bool holds = IsCausal;
  struct must_hold {
    static_assert(holds, "regimen: generate needs a model that does not look ahead; write SelfAttention<Heads<H>, Causal>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
