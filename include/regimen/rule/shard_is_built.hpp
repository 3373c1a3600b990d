// regimen/rule/shard_is_built.hpp — stages of sharding that are declared and not built.
#pragma once

#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// The names are reserved; keeping everything on one rank instead would break the plan that the user asked for.   docs/errors/shard_is_built.md
template <class Shard>
struct shard_is_built {
  static constexpr bool holds = Shard::stage::level >= 0;
  struct must_hold {
    static_assert(holds, "regimen: this way of sharding is not built yet; write Shard<Replicated>, <ZeRO1>, <ZeRO2> or <ZeRO3>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
