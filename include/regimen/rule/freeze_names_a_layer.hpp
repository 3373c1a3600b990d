// regimen/rule/freeze_names_a_layer.hpp — Freeze names layers of the model.
#pragma once

#include <regimen/layer/children.hpp>

namespace regimen::rule {

/// Freeze<Embedding<...>> in a model without it freezes nothing. Found: whether the model has Layer.
/// docs/errors/weights.md#freeze_names_a_layer
template <class Layer, bool Found = false>
struct freeze_names_a_layer {
  static constexpr bool holds = Found;
  struct must_hold {
    static_assert(holds, "regimen: Freeze<...> names a layer that this model lacks; name one that it has");
  };
};

/// Only single layers have weights of their own.
template <class Layer, bool Found>
  requires detail::is_composite<Layer>
struct freeze_names_a_layer<Layer, Found> {
  static constexpr bool holds = !detail::is_composite<Layer>;
  struct must_hold {
    static_assert(holds, "regimen: Freeze<...> freezes single layers, such as Embedding<...> or Linear<N>; name these");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
