// regimen/rule/llama_attends_to_itself.hpp — the attention of a LlamaModel is a SelfAttention.
#pragma once

namespace regimen::rule {

/// A LlamaModel counts and names the projections of its attention.   docs/errors/networks.md#llama_attends_to_itself
template <class Attention, bool Holds = false>
struct llama_attends_to_itself {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(
        holds,
        "regimen: the attention of a LlamaModel is a SelfAttention<...>; write SelfAttention<Heads<N>, Causal, ...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
