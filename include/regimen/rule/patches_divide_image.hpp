// regimen/rule/patches_divide_image.hpp — patches cover an image.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// ImageShape: the input's, which has height, width and channels.   docs/errors/patches_divide_image.md
template <std::size_t Size, class ImageShape>
struct patches_divide_image {
  static constexpr bool holds = ImageShape::rank == 3 && Size > 0 &&
                                ImageShape::extent(0) % (Size > 0 ? Size : 1) == 0 &&
                                ImageShape::extent(1) % (Size > 0 ? Size : 1) == 0;
  struct must_hold {
    static_assert(holds,
                  "regimen: Patches<N> cuts images into squares of N by N; choose an N that divides height and width");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
