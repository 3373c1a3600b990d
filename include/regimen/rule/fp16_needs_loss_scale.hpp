// regimen/rule/fp16_needs_loss_scale.hpp — fp16 gradients need a loss scale.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::rule {

/// Gradients below 2^-24 underflow to zero in fp16; a loss scale prevents that.
/// docs/errors/precision.md#fp16_needs_loss_scale
template <class Precision, class LossScale>
struct fp16_needs_loss_scale {
  static constexpr bool holds = !std::is_same_v<typename Precision::compute, fp16> || LossScale::scales;
  struct must_hold {
    static_assert(holds,
                  "regimen: Precision<fp16, ...> needs a loss scale; add LossScale<Dynamic>, or compute in bf16");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
