// regimen/rule/recomputed_layer_is_replayable.hpp — a recomputed layer gives the same result again.
#pragma once

namespace regimen::rule {

/// A layer with random numbers or state of its own may give another result. Replayable: what the layer declares.
/// docs/errors/checkpointing.md#recomputed_layer_is_replayable
template <class Layer, bool Replayable = false>
struct recomputed_layer_is_replayable {
  static constexpr bool holds = Replayable;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint<...> computes this layer twice, with two results; make it replayable, or keep its output");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
