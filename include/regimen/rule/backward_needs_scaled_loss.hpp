// regimen/rule/backward_needs_scaled_loss.hpp — under fp16, backward starts from a scaled loss.
#pragma once

namespace regimen::rule {

/// Without the scale, small gradients would underflow.   docs/errors/trainers.md#backward_needs_scaled_loss
template <class Loss, bool Scaled = false>
struct backward_needs_scaled_loss {
  static constexpr bool holds = Scaled;
  struct must_hold {
    static_assert(holds, "regimen: backward takes a scaled loss under LossScale<...>; call scale before backward");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
