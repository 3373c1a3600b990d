// regimen/rule/squares_divide_image.hpp — squares cover an image.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Height and width of the input are multiples of the layer's Size. layer_takes_images refuses other inputs.
/// docs/errors/convolutions.md#squares_divide_image
template <class Layer, std::size_t Size, class ImageShape>
struct squares_divide_image {
  static constexpr bool holds =
      ImageShape::rank != 3 || (Size > 0 && ImageShape::extent(0) % (Size > 0 ? Size : 1) == 0 &&
                                ImageShape::extent(1) % (Size > 0 ? Size : 1) == 0);
  struct must_hold {
    static_assert(
        holds,
        "regimen: Patches<N>, MaxPool<N>, AveragePool<N> and Downsample<N> cut images into squares; let N divide height "
        "and width");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
