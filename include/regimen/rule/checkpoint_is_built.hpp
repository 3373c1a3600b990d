// regimen/rule/checkpoint_is_built.hpp — refuses schedules that are declared, but not built.
#pragma once

#include <regimen/policy/checkpoint.hpp>

#include <type_traits>

namespace regimen::rule {

/// The name is reserved; to accept and ignore it would be worse than an error. HostMemory: then it never can be built,
/// as offload_needs_two_memories says.   docs/errors/checkpoint_is_built.md
template <class Checkpoint, bool HostMemory>
struct checkpoint_is_built {
  static constexpr bool holds = HostMemory || !std::is_same_v<Checkpoint, regimen::Checkpoint<Offload>>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint<Offload> is not built yet; write Checkpoint<Every<N>> or Checkpoint<Budget<80_GiB>>");
  };
};

}  // namespace regimen::rule
