// regimen/rule/selective_names_layers.hpp — Selective names at least one layer.
#pragma once

#include <regimen/policy/checkpoint.hpp>

namespace regimen::rule {

/// Selective<> would recompute nothing.   docs/errors/checkpointing.md#selective_names_layers
template <class Schedule>
struct selective_names_layers {
  static constexpr bool holds = true;
};

template <class... Layers>
struct selective_names_layers<Selective<Layers...>> {
  static constexpr bool holds = sizeof...(Layers) > 0;
  struct must_hold {
    static_assert(holds,
                  "regimen: Checkpoint<Selective<...>> needs at least one layer; name it, or write Checkpoint<None>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
