// regimen/rule/kept_blocks_below_depth.hpp — KeepLast<K> leaves blocks to other schedules.
#pragma once

#include <regimen/policy/checkpoint.hpp>

#include <cstddef>

namespace regimen::rule {

/// Over six blocks, KeepLast<6> would recompute nothing; KeepLast<0> says nothing.
/// docs/errors/checkpointing.md#kept_blocks_below_depth
template <class Checkpoint, std::size_t Depth>
struct kept_blocks_below_depth {
  static constexpr bool holds = [] {
    if constexpr (!detail::keeps_last<Checkpoint>) return true;
    else if constexpr (Checkpoint::whole == 0 || Checkpoint::whole >= Depth) return false;
    else return kept_blocks_below_depth<typename Checkpoint::Last, Checkpoint::whole>::holds;
  }();
  struct must_hold {
    static_assert(
        holds,
        "regimen: KeepLast<K> keeps the last K blocks of more, and this model has others; write 0 < K < their number");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
