// regimen/rule/kept_segments_exist.hpp — segments are kept where there are some.
#pragma once

#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// A segment of one unit stays gathered anyhow, and without Every<N> nothing is computed again: the option would be ignored. Units: does the
/// WrapIf, if there is one, make the iterations of a Repeat units?
/// docs/errors/kept_segments_exist.md
template <class Shard, class Checkpoint, bool Units = true>
struct kept_segments_exist {
  static constexpr bool holds = !Shard::keeps || (Checkpoint::segment >= 2 && Units);
  struct must_hold {
    static_assert(
        holds,
        "regimen: KeepSegments keeps the units of a segment that is computed again; write Every<N>, N >= 2, and let the block of a Repeat be a unit");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
