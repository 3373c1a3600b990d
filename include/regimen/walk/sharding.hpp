// regimen/walk/sharding.hpp — the facts about sharding policies that a walk needs.
#pragma once

#include <regimen/comm/teams.hpp>

#include <cstddef>

namespace regimen::walk {

/// Stage 0: one rank, or several that keep everything. Ranks keep slices of the optimizer state (1), also of the
/// gradients (2), also of the parameters (3).      Rajbhandari, Rasley, Ruwase, He 2020, section 5
///
///   Shard           the policy, of which a walk reads
///                     stage::level, stage::group: ranks among which a buffer is sharded, replicated over the groups;
///                       0: all ranks are one group
///                     prefetches: the next unit is gathered while this one computes
///                     keeps: the units of a recomputed segment stay gathered until its backward is done
///                     bucket: bytes of gradients of neighbouring units that are reduced together; 0: each unit alone
///                     wrap: which layers are units; void: each child of the model and each iteration of a Repeat
///   Transport       staging_bytes(ranks, slice bytes): the transport's scratch to reduce a buffer
///   reduces_each    gradients of every micro-batch have a buffer of their own, are reduced, and are added to this
///                   rank's slice; otherwise only those of the last micro-batch are reduced
///   planned_ranks   the ranks of the constant plan, for which a walk reads tables instead of computing
///
/// A buffer always has as many parts as there are ranks. One rank of a group keeps a slice: as many neighbouring parts
/// as there are groups. So a gathered buffer has the same layout under every Shard.
template <class Shard, class Transport_, bool reduces_each_, std::size_t planned_ranks_ = 1>
struct ShardingOf final {
  using Transport = Transport_;
  using Wrap = typename Shard::wrap;
  static constexpr int stage = Shard::stage::level;
  static constexpr bool reduces_each = reduces_each_, prefetches = Shard::prefetches, keeps = Shard::keeps;
  static constexpr std::size_t group = Shard::stage::group, bucket = Shard::bucket, planned_ranks = planned_ranks_;

  /// Known to be one rank: nothing is gathered, reduced or exchanged, and no code for it is instantiated.
  static constexpr bool alone = Transport::is_alone;

  static constexpr bool slices_state = stage >= 1, slices_gradients = stage >= 1 && reduces_each,
                        slices_parameters = stage >= 3;

  /// The number of slices of a buffer, the number of groups, and the slice of a rank.
  static constexpr std::size_t slices(std::size_t ranks) { return group == 0 || ranks == 1 ? ranks : group; }
  static constexpr std::size_t groups(std::size_t ranks) { return ranks / slices(ranks); }
  static constexpr std::size_t slice_of(std::size_t rank) { return rank % shard_group_size; }
  /// The index of the part, within the slice, that belongs to this rank where each part must count once: the rank's
  /// place among the ranks that keep the same slice.
  static constexpr std::size_t copy_of(std::size_t rank) { return rank / shard_group_size; }
  static constexpr std::size_t part_of(std::size_t rank, std::size_t ranks) {
    return slice_of(rank) * groups(ranks) + copy_of(rank);
  }
  /// The rank to which a part belongs.
  static constexpr std::size_t rank_of(std::size_t part, std::size_t ranks) {
    return part / groups(ranks) + part % groups(ranks) * (group == 0 ? 0 : group);
  }

  /// The ranks among which a buffer is sharded, and the ranks that keep the same slice.
  static constexpr comm::Teams shard_group{group, 1};
  static constexpr comm::Teams replica_group(std::size_t ranks) { return {groups(ranks), slices(ranks)}; }

 private:
  static constexpr std::size_t shard_group_size = group == 0 ? ~std::size_t{0} : group;
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
