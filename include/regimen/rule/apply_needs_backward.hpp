// regimen/rule/apply_needs_backward.hpp — the optimizer sees gradients, which backward makes.
#pragma once

namespace regimen::rule {

/// A loss is another type than its gradients; only backward makes gradients of it.   docs/errors/apply_needs_backward.md
template <class Loss, bool Gradients = false>
struct apply_needs_backward {
  static constexpr bool holds = Gradients;
  struct must_hold {
    static_assert(holds, "regimen: this loss has no gradients yet; call backward between forward and apply");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
