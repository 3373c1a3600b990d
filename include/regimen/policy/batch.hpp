// regimen/policy/batch.hpp — how many samples one micro-batch holds.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen {

/// Batch<Largest>: the largest batch that fits the target.
enum BatchSize { Largest };

/// Decides how many samples a micro-batch has: one forward and backward pass on one rank. An optimizer step has N
/// samples for each micro-batch of each rank. The last batch of an epoch may be smaller.
///
///   choices   Batch<N> with N ≥ 1; Batch<Largest>: the compiler searches for it with the memory plan
///   default   Batch<32>
///   refuses   a batch of zero or less; Largest without a Target, since every batch fits into unlimited memory
///   cost      Largest evaluates four plans at compile time
///   effect    programs/recipe.hpp (batch, largest_batch)
///
///   size      N; 0 for Largest
template <auto N>
struct Batch final {
  using axis = regimen::axis::batch;
  static constexpr bool largest = std::is_same_v<decltype(N), BatchSize>;
  static constexpr std::size_t size = largest ? 0 : static_cast<std::size_t>(N), global = 0;  // global: see GlobalBatch
};

/// Decides how many samples an optimizer step has, on all ranks together: a micro-batch has N / (World · Accumulate).
///
///   choices   GlobalBatch<N>, in place of Batch
///   refuses   an unknown World; an N that World · Accumulate does not divide
///   effect    programs/recipe.hpp (global)
template <std::size_t N>
struct GlobalBatch final {
  using axis = regimen::axis::batch;
  static constexpr bool largest = false;
  static constexpr std::size_t size = N, global = N;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
