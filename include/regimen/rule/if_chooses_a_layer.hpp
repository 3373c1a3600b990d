// regimen/rule/if_chooses_a_layer.hpp — the predicate of Checkpoint<If<...>> is true of a layer or block.
#pragma once

namespace regimen::rule {

/// Otherwise nothing would be recomputed.   Chooses: whether it is true of a layer; by_cost: whether it asks what layers
/// cost; of_list: whether it is true of a composite that is written out in a list of layers
/// docs/errors/checkpointing.md#if_chooses_a_layer
template <class Schedule, bool Chooses, bool by_cost = false, bool of_list = false>
struct if_chooses_a_layer {
  static constexpr bool holds = Chooses;
  struct must_hold {
    static_assert(holds,
                  "regimen: Checkpoint<If<P>>: P<Layer>::value is true of no layer or block of this model; choose one");
  };
};

template <class Schedule, bool Chooses>
struct if_chooses_a_layer<Schedule, Chooses, false, true> {
  static constexpr bool holds = Chooses;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint<If<P>>: P is true only of layers written out in a list; write Checkpointed<...> there");
  };
};

template <class Schedule, bool Chooses>
struct if_chooses_a_layer<Schedule, Chooses, true> {
  static constexpr bool holds = Chooses;
  struct must_hold {
    static_assert(holds, "regimen: Checkpoint<If<P>>: P chooses no layer that can be recomputed; raise its number");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
