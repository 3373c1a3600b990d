// regimen/rule/every_at_most_depth.hpp — a segment is no longer than the model.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Over six blocks, Every<9> would do the same as Every<6>; so it would over those that KeepLast<K> leaves.
///   docs/errors/checkpointing.md#every_at_most_depth
template <class Checkpoint, std::size_t Depth>
struct every_at_most_depth {
  static constexpr bool holds = [] {
    if constexpr (Checkpoint::whole == 0) return Checkpoint::segment <= Depth;
    else if constexpr (Checkpoint::whole >= Depth) return Checkpoint::segment <= Depth;  // that is another rule's
    else
      return Checkpoint::segment <= Depth - Checkpoint::whole &&
             every_at_most_depth<typename Checkpoint::Last, Checkpoint::whole>::holds;
  }();
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint<Every<N>> needs N <= the number of blocks, less the K of KeepLast<K>; write a smaller N");
  };
};

/// Without a Repeat there are no blocks to count.
template <class Checkpoint>
struct every_at_most_depth<Checkpoint, 0> {
  static constexpr bool holds = !Checkpoint::repeats;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Every<N> counts the blocks of a Repeat, and this model has none; add a Repeat, or write Selective<...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
