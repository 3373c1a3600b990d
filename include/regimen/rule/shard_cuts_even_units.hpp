// regimen/rule/shard_cuts_even_units.hpp — a sharded unit has weights of one kind.
#pragma once

namespace regimen::rule {

/// If a child of the model, or the block of a Repeat, has weights of several element types,
/// or freezes some, no slice fits
/// all its buffers.   docs/errors/ranks.md#shard_cuts_even_units
template <class Shard, class Unit, bool Even>
struct shard_cuts_even_units {
  static constexpr bool holds = Even;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Shard<...> cuts units whose weights are of one element type, and all trained or all frozen; make this layer a unit "
        "(a child of the model, WrapIf), or keep it Replicated");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
