// regimen/rule/largest_batch_needs_target.hpp — Batch<Largest> needs a target's memory as its bound.
#pragma once

#include <regimen/policy/target.hpp>

#include <type_traits>

namespace regimen::rule {

/// Anything fits into unlimited memory.   docs/errors/targets.md#largest_batch_needs_target
template <class Batch, class Target>
struct largest_batch_needs_target {
  static constexpr bool holds = !Batch::largest || !std::is_same_v<typename Target::description, targets::unlimited>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Batch<Largest> needs memory to fill; add Target<targets::h200> or your own, or write Batch<32>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
