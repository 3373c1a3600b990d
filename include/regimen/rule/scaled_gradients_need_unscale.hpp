// regimen/rule/scaled_gradients_need_unscale.hpp — apply takes unscaled gradients.
#pragma once

namespace regimen::rule {

/// Gradients of a scaled loss are a type of their own; only unscale turns them into gradients.
/// docs/errors/trainers.md#scaled_gradients_need_unscale
template <class Gradients, bool Scaled = true>
struct scaled_gradients_need_unscale {
  static constexpr bool holds = !Scaled;
  struct must_hold {
    static_assert(holds, "regimen: these gradients still carry the loss scale; call unscale before apply");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
