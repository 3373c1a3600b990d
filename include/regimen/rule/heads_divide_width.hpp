// regimen/rule/heads_divide_width.hpp — heads are equal slices of the width.
#pragma once

namespace regimen::rule {

/// Attention cuts the channels of Input, a shape, into HeadCount equal heads.
/// docs/errors/attention.md#heads_divide_width
template <class HeadCount, class Input>
struct heads_divide_width {
  static constexpr bool holds =
      HeadCount::count >= 1 && Input::columns % (HeadCount::count >= 1 ? HeadCount::count : 1) == 0;
  struct must_hold {
    static_assert(holds, "regimen: Heads<N> cuts the width into N equal heads; write an N that divides the width");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
