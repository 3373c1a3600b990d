// regimen/rule/offload_needs_two_memories.hpp — Offload moves tensors from one memory to another.
#pragma once

namespace regimen::rule {

/// On the CPU there is one memory.   HasTwo: whether the engine copies to another
///   docs/errors/checkpointing.md#offload_needs_two_memories
template <class Checkpoint, class Device, bool HasTwo>
struct offload_needs_two_memories {
  static constexpr bool holds = !Checkpoint::offloads || HasTwo;
  struct must_hold {
    static_assert(
        holds, "regimen: Checkpoint<Offload> moves tensors to the host, whose memory is this Device's; write Every<N>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
