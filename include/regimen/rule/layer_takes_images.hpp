// regimen/rule/layer_takes_images.hpp — a layer of images gets images.
#pragma once

namespace regimen::rule {

/// Its input has height, width and channels.   docs/errors/convolutions.md#layer_takes_images
template <class Layer, class InputShape>
struct layer_takes_images {
  static constexpr bool holds = InputShape::rank == 3;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this layer takes images (height, width, channels); put it before what makes them something else");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
