// regimen/rule/apply_needs_backward.hpp — apply takes gradients, which backward computes.
#pragma once

namespace regimen::rule {

/// A loss and its gradients are different types; only backward turns a loss into gradients.
/// docs/errors/trainers.md#apply_needs_backward
template <class Loss, bool Gradients = false>
struct apply_needs_backward {
  static constexpr bool holds = Gradients;
  struct must_hold {
    static_assert(holds, "regimen: this loss has no gradients yet; call backward between forward and apply");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
