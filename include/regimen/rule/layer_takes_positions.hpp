// regimen/rule/layer_takes_positions.hpp — a layer of positions gets positions.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Its input has a length and channels.   docs/errors/shapes.md#layer_takes_positions
///   MostAxes   2, or more of a layer that takes the positions of images and volumes, too
template <class Layer, class InputShape, std::size_t MostAxes = 2, bool has_none = (InputShape::rank < 2)>
struct layer_takes_positions {
  static constexpr bool holds = InputShape::rank >= 2 && InputShape::rank <= MostAxes;
  struct must_hold {
    static_assert(holds,
                  "regimen: this layer takes positions (length, channels); put it behind an Embedding or Patches<N>");
  };
};
template <class Layer, class InputShape, std::size_t MostAxes>
struct layer_takes_positions<Layer, InputShape, MostAxes, true> {
  static constexpr bool holds = InputShape::rank >= 2;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this layer takes positions, not a vector; write Input<Series<Length, Channels>>, or an Embedding, and no Flatten");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
