// regimen/rule/heads_at_most_2048.hpp — a head has at most 2048 channels.
#pragma once

#include <regimen/core/operation.hpp>

namespace regimen::rule {

/// HeadCount heads share the channels of Input, a shape.   docs/errors/heads_at_most_2048.md
template <class HeadCount, class Input>
struct heads_at_most_2048 {
  static constexpr bool holds =
      HeadCount::count == 0 || Input::columns <= HeadCount::count * op::AttentionShape::largest_width;
  struct must_hold {
    static_assert(holds, "regimen: attention takes heads of at most 2048 channels; write a larger N in Heads<N>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
