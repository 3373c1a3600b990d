// regimen/rule/slice_fits_extent.hpp — a slice is a part of what it is taken from.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Extent: of the axis, 0 if there is no such axis.   docs/errors/shapes.md#slice_fits_extent
template <class Layer, class Found, std::size_t Extent, std::size_t Begin, std::size_t Count>
struct slice_fits_extent {
  static constexpr bool holds = Count >= 1 && Begin < Extent && Count <= Extent - Begin;
  struct must_hold {
    static_assert(
        holds, "regimen: a slice takes one element of its axis or more; write a Begin and a Count that lie inside it");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
