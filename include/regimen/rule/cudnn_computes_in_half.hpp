// regimen/rule/cudnn_computes_in_half.hpp — Attention<Cudnn> computes in bf16 or fp16.
#pragma once

namespace regimen::rule {

/// Layer attends in another type. A wider one has no fused kernel.   docs/errors/devices.md#cudnn_computes_in_half
template <class Layer, class Attention, bool Half>
struct cudnn_computes_in_half {
  static constexpr bool holds = Half;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Attention<Cudnn> computes in bf16 or fp16; write Precision<bf16, fp32>, or Attention<Composed>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
