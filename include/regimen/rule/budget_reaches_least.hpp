// regimen/rule/budget_reaches_least.hpp — some schedule of recomputation brings the plan within its Budget.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Bytes of Checkpoint<Budget<...>>, then the least peak of all schedules that Budget considers.
/// docs/errors/checkpointing.md#budget_reaches_least
template <std::size_t Bytes, std::size_t Least>
struct budget_reaches_least {
  static constexpr bool holds = Least <= Bytes;
  struct must_hold {
    static_assert(
        holds, "regimen: no recomputation fits into Budget<Bytes>; allow the second number of bytes that stands here");
  };
};

}  // namespace regimen::rule
