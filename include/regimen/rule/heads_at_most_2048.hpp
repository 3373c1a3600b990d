// regimen/rule/heads_at_most_2048.hpp — a head has at most 2048 channels.
#pragma once

#include <regimen/core/operation.hpp>

#include <cstddef>

namespace regimen::rule {

/// Named, Heads<N> or HeadWidth<D>, makes heads of Width channels.   docs/errors/attention.md#heads_at_most_2048
template <class Named, std::size_t Width>
struct heads_at_most_2048 {
  static constexpr bool holds = Width <= op::AttentionShape::largest_width;
  struct must_hold {
    static_assert(
        holds,
        "regimen: attention takes heads of at most 2048 channels; write a larger N in Heads<N>, or a smaller HeadWidth<D>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
