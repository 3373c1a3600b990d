// regimen/rule/kept_segments_exist.hpp — segments are kept where there are some.
#pragma once

#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// A segment of one unit stays gathered anyhow, and without Every<N> nothing is computed again: the option would be ignored.
/// docs/errors/kept_segments_exist.md
template <class Shard, class Checkpoint>
struct kept_segments_exist {
  static constexpr bool holds = !Shard::keeps || Checkpoint::segment >= 2;
  struct must_hold {
    static_assert(holds,
                  "regimen: KeepSegments keeps the units of a segment that is computed again; write Checkpoint<Every<N>> with N >= 2 beside it");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
