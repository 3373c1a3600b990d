// regimen/rule/layer_takes_positions.hpp — a layer of positions gets positions.
#pragma once

namespace regimen::rule {

/// Its input has a length and channels.   docs/errors/layer_takes_positions.md
template <class Layer, class InputShape>
struct layer_takes_positions {
  static constexpr bool holds = InputShape::rank == 2;
  struct must_hold {
    static_assert(holds,
                  "regimen: this layer takes positions (length, channels); put it behind an Embedding or Patches<N>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
