// regimen/walk/sharding.hpp — what a walk must know of the policies that decide who owns what.
#pragma once

#include <cstddef>

namespace regimen::walk {

/// One rank, or many that all keep everything (stage 0), the state of the optimizer in slices (1), also the gradients (2), also
/// the parameters (3).      Rajbhandari, Rasley, Ruwase, He 2020, section 5
///
///   Transport     staging_bytes(ranks, slice bytes): what it needs beside a buffer to sum its slices over the ranks
///   reduces_each  every micro-batch's gradients are written into a buffer of their own, reduced, and added to what this rank owns of them; otherwise
///   the last one's
template <int stage_, class Transport_, bool reduces_each_>
struct ShardingOf final {
  using Transport = Transport_;
  static constexpr int stage = stage_;
  static constexpr bool reduces_each = reduces_each_;

  /// One rank for certain: nothing is gathered, reduced or exchanged, and the code for it is not made.
  static constexpr bool alone = Transport::is_alone;

  static constexpr bool slices_state = stage >= 1, slices_gradients = stage >= 1 && reduces_each, slices_parameters = stage >= 3;
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
