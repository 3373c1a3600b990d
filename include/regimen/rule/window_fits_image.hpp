// regimen/rule/window_fits_image.hpp — a window lies in the padded image at least once.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Height and Width: of the window, with the pixels that its dilation skips. layer_takes_images refuses other inputs.
/// docs/errors/convolutions.md#window_fits_image
template <class Layer, std::size_t Height, std::size_t Width, std::size_t Padding, class ImageShape>
struct window_fits_image {
  static constexpr bool holds = ImageShape::rank != 3 || (ImageShape::extent(0) + 2 * Padding >= Height &&
                                                          ImageShape::extent(1) + 2 * Padding >= Width);
  struct must_hold {
    static_assert(holds,
                  "regimen: a window is larger than the padded input; make the window smaller, or add Padding<N>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
