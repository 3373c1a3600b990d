// regimen/policy/accumulate.hpp — how many micro-batches make one optimizer step.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// When the gradients of several micro-batches are summed over the ranks.
///   ReduceOnce   after the last micro-batch: the least traffic; every rank keeps whole gradients until then
///   ReduceEach   after each micro-batch: a rank keeps only its slice of the gradients between micro-batches, and the
///                sums have the same bits under every Shard
struct ReduceOnce final : detail::OptionOf<axis::accumulate> {};
struct ReduceEach final : detail::OptionOf<axis::accumulate> {};

/// Decides how many micro-batches an optimizer step has. A step divides the sum of the losses by the number of valid
/// targets once, so every valid target has the same weight, even if micro-batches have unequal numbers of them.
///
///   epochs    a step at the end of an epoch continues with micro-batches of the next epoch; only the last step of a
///             run may have fewer than N. E epochs of S samples are ⌈E · ⌈S / (B · R)⌉ / N⌉ steps, with Batch<B> and R
///             ranks (with Remainder::Drop both divisions round down). Give a Schedule for E epochs this number, not E
///             · ⌈S / (B · R · N)⌉
///   choices   Accumulate<N> with N ≥ 1; among ranks Accumulate<N, ReduceOnce>, Accumulate<N, ReduceEach>;
///             SimulateWorld<N>
///   default   Accumulate<1>; ReduceOnce under Replicated and ZeRO1, ReduceEach under ZeRO2 and ZeRO3
///   refuses   Accumulate<0>; ReduceOnce and ReduceEach together, or without a Communicator; N > 1 with a loss or a
///             layer that couples the samples of a batch
///   cost      the activations of one micro-batch for any N; the gradients stay in memory from the first micro-batch to
///             the last
///   effect    programs/recipe.hpp (micro_batches), programs/step.hpp (micro_batches, reduces_each)
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

/// Makes the update of N ranks on one rank: each micro-batch has the samples and random numbers of one rank under
/// Shard<Replicated>; the update differs only in the order of the sums. Use it to try the batch of a large run on one
/// rank. One difference: if an epoch is not a whole number of steps, N ranks end it with a shorter step; SimulateWorld
/// fills this step from the next epoch. BatchNorm: each micro-batch moves the running statistics from their values at
/// the start of the step, and the step ends with the mean of the results, as on N ranks.
///
/// cost    as Accumulate<N>; a model with running statistics needs three times their memory
/// effect  programs/recipe.hpp (simulates_ranks), programs/step.hpp (simulates)
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
