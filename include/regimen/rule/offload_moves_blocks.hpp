// regimen/rule/offload_moves_blocks.hpp — there is a block that Offload moves to the host's memory.
#pragma once

namespace regimen::rule {

/// Offload leaves the last two blocks of a Repeat on the device, and a block without a backward saves nothing.
///   Moves: whether the plan has bytes of the host's memory   docs/errors/checkpointing.md#offload_moves_blocks
template <class Checkpoint, bool Moves>
struct offload_moves_blocks {
  static constexpr bool holds = !Checkpoint::offloads || Moves;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint<Offload> moves the blocks of a Repeat of 3 or more; this model trains none; write Selective<...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
