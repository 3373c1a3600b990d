// regimen/rule/cudnn_drops_nothing.hpp — Attention<Cudnn> has no dropout.
#pragma once

namespace regimen::rule {

/// Layer drops weights of attention. cuDNN draws its own random numbers, which depend on the batch.   docs/errors/cudnn_drops_nothing.md
template <class Layer, class Attention, bool Keeps>
struct cudnn_drops_nothing {
  static constexpr bool holds = Keeps;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Attention<Cudnn> has no dropout; take it out of SelfAttention<...>, or write Attention<Composed>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
