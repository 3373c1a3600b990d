// regimen/rule/window_sees_pixels.hpp — no window of a pool lies in the padding alone.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// What would the largest pixel of none be?   docs/errors/convolutions.md#window_sees_pixels
template <class Layer, std::size_t Size, std::size_t Padding>
struct window_sees_pixels {
  static constexpr bool holds = Padding < Size;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a window of this pool lies in the padding alone; let Padding<N> be less than the size of the window");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
