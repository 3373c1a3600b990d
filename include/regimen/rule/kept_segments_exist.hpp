// regimen/rule/kept_segments_exist.hpp — KeepSegments needs segments of several units.
#pragma once

#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// Whether some blocks are computed again in segments of several: all but the last, or these by a KeepLast of their own.
template <class Checkpoint>
inline constexpr bool has_long_segments = Checkpoint::segment >= 2 || has_long_segments<typename Checkpoint::Last>;
template <>
inline constexpr bool has_long_segments<Checkpoint<None>> = false;

/// A segment of one unit stays gathered anyway, and without Every<N> there are no
/// segments: the option would be ignored.
/// Units: whether the iterations of a Repeat are units under the WrapIf, if there is one.
/// docs/errors/ranks.md#kept_segments_exist
template <class Shard, class Checkpoint, bool Units = true>
struct kept_segments_exist {
  static constexpr bool holds = !Shard::keeps || (has_long_segments<Checkpoint> && Units);
  struct must_hold {
    static_assert(
        holds,
        "regimen: KeepSegments keeps the units of a segment that is computed again; write Every<N>, N >= 2, and let the block of a Repeat be a unit");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
