// regimen/rule/shared_keeps_parameters.hpp — the weights of a Shared have one shape.
#pragma once

namespace regimen::rule {

/// Layers take the shapes of their weights from what they read.   docs/errors/weights.md#shared_keeps_parameters
template <class Name, bool Keeps>
struct shared_keeps_parameters {
  static constexpr bool holds = Keeps;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a Shared reads inputs for which its layers have other weights; give all its places the same channels");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
