// regimen/rule/bytes_can_be_counted.hpp — a plan's numbers are numbers that exist.
#pragma once

namespace regimen::rule {

/// Extents, Repeats and batches multiply; beyond 2^52 elements a plan would wrap around and call the model small. Elements are
/// counted in floating point before anything is counted in bytes.   docs/errors/bytes_can_be_counted.md
template <class Network, class Batch, bool Countable>
struct bytes_can_be_counted {
  static constexpr bool holds = Countable;
  struct must_hold {
    static_assert(holds, "regimen: this model and batch need more bytes than can be counted; write smaller extents, a smaller Repeat or Batch");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
