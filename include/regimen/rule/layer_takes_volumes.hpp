// regimen/rule/layer_takes_volumes.hpp — a layer of volumes gets volumes.
#pragma once

namespace regimen::rule {

/// Its input has depth, height, width and channels.   docs/errors/convolutions.md#layer_takes_volumes
template <class Layer, class InputShape>
struct layer_takes_volumes {
  static constexpr bool holds = InputShape::rank == 4;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this layer takes volumes (depth, height, width, channels); begin the model with Input<Volume<...>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
