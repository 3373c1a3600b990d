// regimen/rule/frozen_layer_has_weights.hpp — a frozen layer has weights.
#pragma once

#include <regimen/layer/model.hpp>

namespace regimen::rule {

/// Freeze<Relu> would change nothing. Weights: whether Layer has any in this model, outside of a Frozen.
/// docs/errors/weights.md#frozen_layer_has_weights
template <class Layer, bool Weights>
struct frozen_layer_has_weights {
  static constexpr bool holds = Weights;
  struct must_hold {
    static_assert(holds, "regimen: Freeze<...> names a layer without weights that would train; leave it out");
  };
};
template <class... Layers, bool Weights>
struct frozen_layer_has_weights<Frozen<Layers...>, Weights> {
  static constexpr bool holds = Weights;
  struct must_hold {
    static_assert(holds, "regimen: Frozen<...> holds no layer with weights, so nothing would be frozen; leave it out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
