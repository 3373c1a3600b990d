// regimen/rule/heads_divide_width.hpp — heads are equal slices of the width.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Attention cuts Width channels into Heads equal heads.   docs/errors/heads_divide_width.md
template <std::size_t Heads, std::size_t Width>
struct heads_divide_width {
  static constexpr bool holds = Heads >= 1 && Width % Heads == 0;
  struct must_hold {
    static_assert(holds, "regimen: Heads<N> cuts the width into N equal heads; write an N that divides the width");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
