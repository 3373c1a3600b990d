// regimen/rule/bytes_can_be_counted.hpp — the bytes of a plan do not overflow.
#pragma once

namespace regimen::rule {

/// Extents, Repeats and batches multiply; beyond 2^52 elements the plan's bytes would
/// wrap around. So elements are first
/// counted in floating point.   docs/errors/targets.md#bytes_can_be_counted
template <class Network, class Batch, bool Countable>
struct bytes_can_be_counted {
  static constexpr bool holds = Countable;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this model and batch need more bytes than can be counted; write smaller extents, a smaller Repeat or Batch");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
