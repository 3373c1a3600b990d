// regimen/rule/rows_are_aligned.hpp — products have as few unaligned rows as Target allows.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Tensor cores read rows that begin at multiples of 16 bytes in one piece.   docs/errors/targets.md#rows_are_aligned
template <class Layer, std::size_t Columns, std::size_t ElementBytes, bool within>
struct rows_are_aligned {
  static constexpr bool holds = within;
  struct must_hold {
    static_assert(
        holds,
        "regimen: rows of this layer are no multiples of 16 bytes, in more products than Unaligned<...> allows; widen it");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
