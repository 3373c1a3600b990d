// regimen/rule/cudnn_takes_heads.hpp — Attention<Cudnn> takes heads of a multiple of 8 channels.
#pragma once

namespace regimen::rule {

/// Layer has heads that no kernel of cuDNN takes.   docs/errors/devices.md#cudnn_takes_heads
template <class Layer, class Attention, bool Fits>
struct cudnn_takes_heads {
  static constexpr bool holds = Fits;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Attention<Cudnn> takes heads of 8, 16, ... or 256 channels; write other Heads<N>, or Attention<Composed>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
