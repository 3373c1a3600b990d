// regimen/rule/every_at_least_one.hpp — a segment has at least one block.
#pragma once

#include <regimen/policy/checkpoint.hpp>

namespace regimen::rule {

/// Segments without blocks never cover the model.   docs/errors/checkpointing.md#every_at_least_one
template <class Schedule>
struct every_at_least_one {
  static constexpr bool holds = true;
};

template <std::size_t N>
struct every_at_least_one<Every<N>> {
  static constexpr bool holds = N >= 1;
  struct must_hold {
    static_assert(holds, "regimen: Checkpoint<Every<N>> needs N >= 1; write Checkpoint<Every<1>>, or Checkpoint<None>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
