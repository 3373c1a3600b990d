// regimen/rule/shard_is_built.hpp — stages of sharding that are declared and not built.
#pragma once

#include <regimen/policy/shard.hpp>

#include <type_traits>

namespace regimen::rule {

/// The names are reserved; keeping everything on one rank instead would break the plan that the user asked for.   docs/errors/shard_is_built.md
template <class Shard>
struct shard_is_built {
  static constexpr bool holds = std::is_same_v<typename Shard::stage, Replicated>;
  struct must_hold {
    static_assert(holds, "regimen: Shard<Replicated> is the only one built yet; write it, or leave Shard out");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
