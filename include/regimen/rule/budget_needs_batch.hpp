// regimen/rule/budget_needs_batch.hpp — what to recompute is chosen for a batch that is given.
#pragma once

#include <regimen/policy/checkpoint.hpp>

namespace regimen::rule {

/// The largest batch depends on the schedule, and the schedule on the batch.
/// docs/errors/checkpointing.md#budget_needs_batch
template <class Batch, class Checkpoint>
struct budget_needs_batch {
  static constexpr bool holds = !Batch::largest || !detail::has_budget<Checkpoint>;
  struct must_hold {
    static_assert(holds,
                  "regimen: Budget<Bytes> chooses for a given batch; write Batch<N>, or Every<N> in place of Budget");
  };
};

}  // namespace regimen::rule
