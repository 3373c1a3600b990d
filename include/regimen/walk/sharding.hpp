// regimen/walk/sharding.hpp — what a walk must know of the policies that decide who owns what.
#pragma once

#include <regimen/comm/teams.hpp>

#include <cstddef>

namespace regimen::walk {

/// One rank, or many that all keep everything (stage 0), the state of the optimizer in slices (1), also the gradients (2), also
/// the parameters (3).      Rajbhandari, Rasley, Ruwase, He 2020, section 5
///
///   Transport     staging_bytes(ranks, slice bytes): what it needs beside a buffer to sum its slices over the ranks
///   reduces_each  every micro-batch's gradients are written into a buffer of their own, reduced, and added to what this rank owns of them; otherwise
///   the last one's
///   prefetches    the next unit is gathered while this one computes
///   keeps         the units of a segment that is computed again stay gathered until it was walked back
///   bucket        bytes of gradients of neighbouring units that travel together; 0: each unit's alone
///   Wrap          which layers are units; void: each child of the model and each iteration of a Repeat
///   planned_ranks of the constant plan, for which a walk looks up what it would else compute
///   group         ranks that keep the slices of one whole between them, each group another whole; 0: all ranks are one
///
/// A buffer is always cut into as many parts as there are ranks. A slice is what one rank of a group keeps: a part, or, of several
/// groups, as many neighbouring parts as there are groups. So a gathered buffer looks the same under every Shard.
template <int stage_, class Transport_, bool reduces_each_, bool prefetches_ = true, bool keeps_ = false, std::size_t group_ = 0,
          std::size_t bucket_ = 0, class Wrap_ = void, std::size_t planned_ranks_ = 1>
struct ShardingOf final {
  using Transport = Transport_;
  using Wrap = Wrap_;
  static constexpr int stage = stage_;
  static constexpr bool reduces_each = reduces_each_, prefetches = prefetches_, keeps = keeps_;
  static constexpr std::size_t group = group_, bucket = bucket_, planned_ranks = planned_ranks_;

  /// One rank for certain: nothing is gathered, reduced or exchanged, and the code for it is not made.
  static constexpr bool alone = Transport::is_alone;

  static constexpr bool slices_state = stage >= 1, slices_gradients = stage >= 1 && reduces_each, slices_parameters = stage >= 3;

  /// Slices of a whole, groups that keep one each, and the slice that a rank keeps.
  static constexpr std::size_t slices(std::size_t ranks) { return group == 0 || ranks == 1 ? ranks : group; }
  static constexpr std::size_t groups(std::size_t ranks) { return ranks / slices(ranks); }
  static constexpr std::size_t slice_of(std::size_t rank) { return rank % shard_group_size; }
  /// The part of its slice that a rank answers for, where each part must be counted once: its place among those that keep the same.
  static constexpr std::size_t copy_of(std::size_t rank) { return rank / shard_group_size; }
  static constexpr std::size_t part_of(std::size_t rank, std::size_t ranks) { return slice_of(rank) * groups(ranks) + copy_of(rank); }
  /// Who answers for a part.
  static constexpr std::size_t rank_of(std::size_t part, std::size_t ranks) {
    return part / groups(ranks) + part % groups(ranks) * (group == 0 ? 0 : group);
  }

  /// Who keeps a whole together, and who keeps the same slice of it.
  static constexpr comm::Teams shard_group{group, 1};
  static constexpr comm::Teams replica_group(std::size_t ranks) { return {groups(ranks), slices(ranks)}; }

 private:
  static constexpr std::size_t shard_group_size = group == 0 ? ~std::size_t{0} : group;
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
