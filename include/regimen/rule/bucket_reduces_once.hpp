// regimen/rule/bucket_reduces_once.hpp — Bucket needs ReduceOnce.
#pragma once

#include <regimen/policy/accumulate.hpp>
#include <regimen/policy/shard.hpp>

namespace regimen::rule {

/// With ReduceEach each rank adds to its slice of every unit, so each unit is reduced by itself.
/// docs/errors/ranks.md#bucket_reduces_once
template <class Shard, class Accumulate>
struct bucket_reduces_once {
  static constexpr bool holds = Shard::bucket == 0 || !Accumulate::reduces_each(0);
  struct must_hold {
    static_assert(
        holds,
        "regimen: Bucket<Bytes> joins gradients that every rank keeps whole until the last micro-batch; write ReduceOnce, or no Bucket");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
