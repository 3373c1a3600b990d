// regimen/rule/global_batch_divides.hpp — a global batch divides into equal micro-batches.
#pragma once

#include <regimen/policy/accumulate.hpp>
#include <regimen/policy/batch.hpp>
#include <regimen/policy/world.hpp>

namespace regimen::rule {

/// A global batch is cut into World × Accumulate equal micro-batches.
/// docs/errors/steps.md#global_batch_divides
template <class GlobalBatch, class World, class Accumulate>
struct global_batch_divides {
  static constexpr auto divisor = World::ranks * Accumulate::count;
  // nvcc warns about a remainder by zero, even in a branch that is not taken.
  static constexpr bool holds =
      GlobalBatch::global == 0 || (divisor > 0 && GlobalBatch::global % (divisor > 0 ? divisor : 1) == 0);
  struct must_hold {
    static_assert(
        holds,
        "regimen: GlobalBatch<N> is cut into World<R> times Accumulate<K> equal parts; name the World, and an N that these divide");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
