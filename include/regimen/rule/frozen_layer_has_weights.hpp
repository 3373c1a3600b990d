// regimen/rule/frozen_layer_has_weights.hpp — a frozen layer has weights.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Freeze<Relu> would change nothing. Weights: whether Layer has any in this model.
/// docs/errors/frozen_layer_has_weights.md
template <class Layer, bool Weights>
struct frozen_layer_has_weights {
  static constexpr bool holds = Weights;
  struct must_hold {
    static_assert(holds,
                  "regimen: Freeze<...> names a layer without weights, so nothing would be frozen; leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
