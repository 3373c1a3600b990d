// regimen/rule/extents_at_least_one.hpp — no extent is zero.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// A layer without channels, heads or positions computes nothing.   docs/errors/shapes.md#extents_at_least_one
template <class Layer, std::size_t... Extents>
struct extents_at_least_one {
  static constexpr bool holds = ((Extents >= 1) && ...);
  struct must_hold {
    static_assert(holds, "regimen: this layer has an extent of zero; write extents of at least one");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
