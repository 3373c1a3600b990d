// regimen/rule/offload_needs_two_memories.hpp — Offload moves tensors from one memory to another.
#pragma once

#include <regimen/policy/checkpoint.hpp>

#include <type_traits>

namespace regimen::rule {

/// On the CPU there is one memory.   docs/errors/offload_needs_two_memories.md
template <class Checkpoint, class Device, bool HostMemory>
struct offload_needs_two_memories {
  static constexpr bool holds = !std::is_same_v<Checkpoint, regimen::Checkpoint<Offload>> || !HostMemory;
  struct must_hold {
    static_assert(
        holds, "regimen: Checkpoint<Offload> moves tensors to the host, whose memory is this Device's; write Every<N>");
  };
};

}  // namespace regimen::rule
