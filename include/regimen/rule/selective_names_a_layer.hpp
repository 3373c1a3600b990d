// regimen/rule/selective_names_a_layer.hpp — Selective names layers of the model.
#pragma once

#include <regimen/layer/children.hpp>

namespace regimen::rule {

/// Selective<Gelu> in a model without Gelu recomputes nothing. Found: whether the model has Layer.
/// docs/errors/checkpointing.md#selective_names_a_layer
template <class Layer, bool Found = false>
struct selective_names_a_layer {
  static constexpr bool holds = Found;
  struct must_hold {
    static_assert(holds, "regimen: Selective<...> names a layer that this model lacks; name one that it has");
  };
};

/// A composite, or a layer whose backward reads its own output, cannot be selected.
template <class Layer, bool Found>
  requires detail::is_composite<Layer>
struct selective_names_a_layer<Layer, Found> {
  static constexpr bool holds = !detail::is_composite<Layer>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Selective<...> recomputes single layers, such as LayerNorm or Gelu; name these, or write Every<N>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
