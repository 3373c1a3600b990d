// regimen/policy/shard.hpp — what each rank keeps of the weights, the gradients and the optimizer state.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

/// Every rank keeps everything.
struct Replicated final {
  using option_of = regimen::axis::shard;
  static constexpr int level = 0;
};

/// The stages of ZeRO: the state of the optimizer and the master weights, also the gradients, also the weights that kernels read
/// are kept in slices, one a rank.
struct ZeRO1 final {
  using option_of = regimen::axis::shard;
  static constexpr int level = 1;
};
struct ZeRO2 final {
  using option_of = regimen::axis::shard;
  static constexpr int level = 2;
};
struct ZeRO3 final {
  using option_of = regimen::axis::shard;
  static constexpr int level = 3;
};

/// ZeRO-3 within groups of N ranks, replicated over the groups. Declared; refused until it is built.
template <std::size_t N>
struct Hybrid final {
  using option_of = regimen::axis::shard;
  static constexpr int level = -1;
};

/// The names that FSDP gives to them.
using NoShard = Replicated;
using ShardGradOp = ZeRO2;
using FullShard = ZeRO3;

/// Decides what a rank stores between its uses.
///
///   choices   Shard<Replicated>, ZeRO1, ZeRO2, ZeRO3
///   default   Shard<Replicated>
///   refuses   Hybrid<N> for now; any but Replicated without a Communicator
///   source    Rajbhandari, Rasley, Ruwase, He 2020, "ZeRO: memory optimizations toward training trillion parameter models"
template <class Stage>
struct Shard final {
  using axis = regimen::axis::shard;
  using stage = Stage;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
