// regimen/policy/accumulate.hpp — how many micro-batches make one optimizer step.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// When the gradients of several micro-batches are summed over the ranks.
///   ReduceOnce   after the last: the least traffic; every rank keeps whole gradients meanwhile
///   ReduceEach   after each: a rank keeps no more than its slice between them, and the sums have the same bits under every Shard
struct ReduceOnce final {
  using option_of = regimen::axis::accumulate;
};
struct ReduceEach final {
  using option_of = regimen::axis::accumulate;
};

/// Decides how many batches are summed into the gradients before the optimizer sees them. The loss is a sum and a count and the
/// division happens once, so batches with unequal numbers of valid targets weigh what they should.
///
///   choices   Accumulate<N> with N ≥ 1; among ranks Accumulate<N, ReduceOnce>, Accumulate<N, ReduceEach>; SimulateWorld<N>
///   default   Accumulate<1>; Replicated and ZeRO1 reduce once, ZeRO2 and ZeRO3 each time
///   refuses   Accumulate<0>; ReduceOnce and ReduceEach together, or without a Communicator; N > 1 with a loss or a layer that couples
///             the samples of a batch
///   cost      the activations of one batch, whatever N is; gradients stay for all N
template <std::size_t N, class... When>
struct Accumulate final {
  using axis = regimen::axis::accumulate;
  static constexpr std::size_t count = N, answers = sizeof...(When);
  /// Is every micro-batch reduced, under a Shard of this level?
  static constexpr bool reduces_each(int level) {
    if constexpr (sizeof...(When) == 0) return level >= 2;
    else return (std::is_same_v<When, ReduceEach> || ...);
  }
};

/// One rank in place of N: its micro-batches are the batches of N ranks of Shard<Replicated>, with the same samples and random numbers,
/// and the update is theirs but for the order of the sums. To try a large run's batch before there are ranks for it. At the end of an epoch that is
/// no whole number of steps, ranks make a short step; this one fills it from the next epoch.
///
/// source  Sergeev, Del Balso 2018, "Horovod", whose users accumulate to the same end
template <std::size_t N>
struct SimulateWorld final {
  using axis = regimen::axis::accumulate;
  static constexpr std::size_t count = N, answers = 0;
  static constexpr bool reduces_each(int) { return false; }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
