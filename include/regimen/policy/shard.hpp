// regimen/policy/shard.hpp — what each rank keeps of the weights, the gradients and the optimizer state.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// Every rank keeps everything.
struct Replicated final {
  using option_of = regimen::axis::shard;
};

/// The stages of ZeRO: the state of the optimizer, also the gradients, also the weights are kept in parts. Declared; refused until
/// they are built.
struct ZeRO1 final {
  using option_of = regimen::axis::shard;
};
struct ZeRO2 final {
  using option_of = regimen::axis::shard;
};
struct ZeRO3 final {
  using option_of = regimen::axis::shard;
};

/// ZeRO-3 within groups of N ranks, replicated over the groups. Declared; refused until it is built.
template <std::size_t N>
struct Hybrid final {
  using option_of = regimen::axis::shard;
};

/// The names that FSDP gives to them.
using NoShard = Replicated;
using ShardGradOp = ZeRO2;
using FullShard = ZeRO3;

/// Decides what a rank stores between its uses.
///
///   choices   Shard<Replicated>
///   default   Shard<Replicated>
///   refuses   ZeRO1, ZeRO2, ZeRO3 and Hybrid<N> for now
///   source    Rajbhandari, Rasley, Ruwase, He 2020, "ZeRO: memory optimizations toward training trillion parameter models"
template <class Stage>
struct Shard final {
  using axis = regimen::axis::shard;
  using stage = Stage;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
