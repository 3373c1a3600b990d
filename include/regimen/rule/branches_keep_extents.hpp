// regimen/rule/branches_keep_extents.hpp — branches that are concatenated differ in one extent.
#pragma once

#include <cstddef>

namespace regimen::detail {

template <class First, class Other>
constexpr bool differ_along(std::size_t axis) {
  if (First::rank != Other::rank || axis >= First::rank) return false;
  for (std::size_t i = 0; i < First::rank; ++i)
    if (i != axis && First::extent(i) != Other::extent(i)) return false;
  return true;
}

}  // namespace regimen::detail

namespace regimen::rule {

/// Along the axis the outputs stand one behind the other; all other extents are equal.
/// docs/errors/branches.md#branches_keep_extents
template <std::size_t axis, class First, class Other>
struct branches_keep_extents {
  static constexpr bool holds = regimen::detail::differ_along<First, Other>(axis);
  struct must_hold {
    static_assert(
        holds,
        "regimen: Concat joins outputs that have this axis and differ along it alone; make the other extents equal");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
