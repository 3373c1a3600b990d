// regimen/policy/accumulate.hpp — how many micro-batches make one optimizer step.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// When the gradients of several micro-batches are summed over the ranks.
///   ReduceOnce   after the last micro-batch: the least traffic; every rank keeps whole gradients until then
///   ReduceEach   after each micro-batch: a rank keeps only its slice of the gradients between micro-batches, and the
///                sums have the same bits under every Shard
struct ReduceOnce final {
  using option_of = regimen::axis::accumulate;
};
struct ReduceEach final {
  using option_of = regimen::axis::accumulate;
};

/// Decides how many micro-batches the gradients sum before the optimizer's update. The loss is a sum and a count,
/// divided once per step, so every valid target weighs the same, however many of them a micro-batch has.
///
///   epochs    a step whose epoch ends goes on with micro-batches of the next one; only the last step of a run may have fewer
///             than N. So E epochs of S samples are ⌈E · ⌈S / (B · R)⌉ / N⌉ steps, for Batch<B> and R ranks, and not E times
///             ⌈S / (B · R · N)⌉: a Schedule for E epochs ends at that number (with Remainder::Drop round down, twice)
///   choices   Accumulate<N> with N ≥ 1; among ranks Accumulate<N, ReduceOnce>, Accumulate<N, ReduceEach>;
///             SimulateWorld<N>
///   default   Accumulate<1>; ReduceOnce under Replicated and ZeRO1, ReduceEach under ZeRO2 and ZeRO3
///   refuses   Accumulate<0>; ReduceOnce and ReduceEach together, or without a Communicator; N > 1 with a loss or a
///             layer that couples the samples of a batch
///   cost      the activations of one micro-batch, whatever N is; the gradients stay in memory for all N
///   effect    program/recipe.hpp (micro_batches), program/step.hpp (micro_batches, reduces_each)
template <std::size_t N, class... When>
struct Accumulate final {
  using axis = regimen::axis::accumulate;
  static constexpr std::size_t count = N, answers = sizeof...(When);
  static constexpr bool simulates_ranks = false;
  /// Whether the gradients are reduced after every micro-batch, under a Shard of this level.
  static constexpr bool reduces_each(int level) {
    if constexpr (sizeof...(When) == 0) return level >= 2;
    else return (std::is_same_v<When, ReduceEach> || ...);
  }
};

/// One rank in place of N: its micro-batches are the batches of N ranks under Shard<Replicated>, with the same samples
/// and random numbers; the update differs only in the order of the sums. Use it to try the batch of a large run on one
/// rank. Where an epoch is not a whole number of steps, N ranks end it with a shorter step; SimulateWorld fills that
/// step from the next epoch. Each micro-batch moves the running statistics of BatchNorm from where the step began, and the
/// step ends with their mean, as that of N ranks does.
///
/// cost    as Accumulate<N>; for a model with running statistics their memory three times
/// effect  program/recipe.hpp (simulates_ranks), program/step.hpp (simulates)
///
/// source  Sergeev, Del Balso 2018, "Horovod", whose users accumulate for the same purpose
template <std::size_t N>
struct SimulateWorld final {
  using axis = regimen::axis::accumulate;
  static constexpr std::size_t count = N, answers = 0;
  static constexpr bool simulates_ranks = true;
  static constexpr bool reduces_each(int) { return false; }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
