// regimen/rule/groups_divide_channels.hpp — groups of channels are equal.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// The channels of a convolution and those of its input are multiples of its groups. extents_at_least_one refuses none.
/// docs/errors/convolutions.md#groups_divide_channels
template <class Layer, std::size_t Groups, std::size_t Channels, class ImageShape>
struct groups_divide_channels {
  static constexpr std::size_t count = Groups > 0 ? Groups : 1;
  static constexpr bool holds = Channels % count == 0 && ImageShape::extent(ImageShape::rank - 1) % count == 0;
  struct must_hold {
    static_assert(holds,
                  "regimen: Groups<N> cuts channels into equal runs; let N divide those of the layer and of its input");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
