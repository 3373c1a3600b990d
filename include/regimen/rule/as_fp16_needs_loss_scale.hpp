// regimen/rule/as_fp16_needs_loss_scale.hpp — a layer in fp16 needs a loss scale, as a model in fp16 does.
#pragma once

#include <regimen/core/number.hpp>

#include <type_traits>

namespace regimen::rule {

/// The gradients of a single fp16 layer underflow, too.   docs/errors/precision.md#as_fp16_needs_loss_scale
template <class T, class LossScale>
struct as_fp16_needs_loss_scale {
  static constexpr bool holds = !std::is_same_v<T, fp16> || LossScale::scales;
  struct must_hold {
    static_assert(
        holds,
        "regimen: As<fp16, ...> needs Precision<fp16, fp32> and LossScale<Dynamic>; write As<bf16, ...>, or add them");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
