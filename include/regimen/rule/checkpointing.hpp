// regimen/rule/checkpointing.hpp — rules about checkpointing: which layers and blocks are computed twice, or moved.
#pragma once

#include <regimen/engine/plan/devices.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/policy/checkpoint.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// Segments without blocks never cover the model.   docs/errors/checkpointing.md#every_at_least_one
template <class Schedule>
struct every_at_least_one {
  static constexpr bool holds = !std::is_same_v<Schedule, Every<0>>;
  struct must_hold {
    static_assert(holds, "regimen: Checkpoint<Every<N>> needs N >= 1; write Checkpoint<Every<1>>, or Checkpoint<None>");
  };
};

/// Over six blocks, Every<9> would do the same as Every<6>; so it would over those that KeepLast<K> leaves.
///   docs/errors/checkpointing.md#every_at_most_depth
template <class Checkpoint, std::size_t Depth>
struct every_at_most_depth {
  static constexpr bool holds = [] {
    if constexpr (Checkpoint::whole == 0) return Checkpoint::segment <= Depth;
    else if constexpr (Checkpoint::whole >= Depth) return Checkpoint::segment <= Depth;  // that is another rule's
    else
      return Checkpoint::segment <= Depth - Checkpoint::whole &&
             every_at_most_depth<typename Checkpoint::Last, Checkpoint::whole>::holds;
  }();
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint<Every<N>> needs N <= the number of blocks, less the K of KeepLast<K>; write a smaller N");
  };
};

/// Without a Repeat there are no blocks to count.
template <class Checkpoint>
struct every_at_most_depth<Checkpoint, 0> {
  static constexpr bool holds = !Checkpoint::repeats;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Every<N> counts the blocks of a Repeat, and this model has none; add a Repeat, or write Selective<...>");
  };
};

/// Of two Every<N> one would be ignored; None beside another contradicts it; KeepLast<K> alone keeps all. What Offload
/// moves is not recomputed, except the layers that are named. The schedules of KeepLast agree, too.
///   docs/errors/checkpointing.md#schedules_agree
template <class Checkpoint>
struct schedules_agree;
template <class... Schedules>
struct schedules_agree<Checkpoint<Schedules...>> {
  static constexpr std::size_t of(detail::ScheduleKind kind) {
    return (std::size_t{0} + ... + (detail::kind_of_schedule<Schedules> == kind ? 1 : 0));
  }
  static constexpr std::size_t blocks = of(detail::ScheduleKind::blocks), layers = of(detail::ScheduleKind::layers),
                               whole = of(detail::ScheduleKind::whole);
  static constexpr bool recomputes_last = !std::is_same_v<typename Checkpoint<Schedules...>::Last, Checkpoint<None>>;
  static constexpr bool holds = [] {
    if constexpr (sizeof...(Schedules) == 1 && blocks + layers + whole == 0) return true;
    else if constexpr (blocks > 1 || layers > 1 || whole > 1) return false;
    else if constexpr (blocks + layers == 0 && !recomputes_last) return false;
    else if constexpr (of(detail::ScheduleKind::other) > 0) return false;
    else if constexpr (whole == 0) return true;
    else if constexpr (Checkpoint<Schedules...>::offloads || Checkpoint<Schedules...>::Last::offloads) return false;
    else
      return !detail::has_budget<typename Checkpoint<Schedules...>::Last> &&
             schedules_agree<typename Checkpoint<Schedules...>::Last>::holds;
  }();
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint takes one of Every<N> and Offload, one of Selective<...> and If<P>, then KeepLast<K>; keep these");
  };
};

/// Selective<> would recompute nothing.   docs/errors/checkpointing.md#selective_names_layers
template <class Schedule>
struct selective_names_layers {
  static constexpr bool holds = !std::is_same_v<Schedule, Selective<>>;
  struct must_hold {
    static_assert(holds,
                  "regimen: Checkpoint<Selective<...>> needs at least one layer; name it, or write Checkpoint<None>");
  };
};

/// Selective<Gelu> in a model without Gelu recomputes nothing, and a composite cannot be selected.
/// Found: whether the model has Layer.   docs/errors/checkpointing.md#selective_names_a_layer
template <class Layer, bool Found = false>
struct selective_names_a_layer {
  static constexpr bool is_single = !detail::is_composite<Layer>, holds = is_single && Found;
  struct must_hold {
    static_assert(holds || !is_single,
                  "regimen: Selective<...> names a layer that this model lacks; name one that it has");
    static_assert(
        is_single,
        "regimen: Selective<...> recomputes single layers, such as LayerNorm or Gelu; name these, or write Every<N>");
  };
};

/// Such an output is saved, so there is nothing to compute again.
/// docs/errors/checkpointing.md#selected_output_is_not_read
template <class Layer>
struct selected_output_is_not_read {
  static constexpr bool holds = !requires { requires Layer::reads_own_output; };
  struct must_hold {
    static_assert(
        holds,
        "regimen: Selective<...> names a layer whose backward reads its own output, which is kept; leave it out");
  };
};

/// A layer with random numbers or state of its own may give another result: what the layer declares.
/// docs/errors/checkpointing.md#recomputed_layer_is_replayable
template <class Layer>
struct recomputed_layer_is_replayable {
  static constexpr bool holds = !requires { requires !Layer::replayable; };
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint<...> computes this layer twice, with two results; make it replayable, or keep its output");
  };
};

/// Otherwise nothing would be recomputed.   Chooses: whether it is true of a layer; by_cost: whether it asks what
/// layers cost; of_list: whether it is true of a composite that is written out in a list of layers
/// docs/errors/checkpointing.md#if_chooses_a_layer
template <class Schedule, bool Chooses, bool by_cost = false, bool of_list = false>
struct if_chooses_a_layer {
  static constexpr bool holds = Chooses;
  struct must_hold {
    static_assert(holds || by_cost || of_list,
                  "regimen: Checkpoint<If<P>>: P<Layer>::value is true of no layer or block of this model; choose one");
    static_assert(
        holds || !of_list,
        "regimen: Checkpoint<If<P>>: P is true only of layers written out in a list; write Checkpointed<...> there");
    static_assert(holds || !by_cost,
                  "regimen: Checkpoint<If<P>>: P chooses no layer that can be recomputed; raise its number");
  };
};

/// Over six blocks, KeepLast<6> would recompute nothing; KeepLast<0> says nothing.
/// docs/errors/checkpointing.md#kept_blocks_below_depth
template <class Checkpoint, std::size_t Depth>
struct kept_blocks_below_depth {
  static constexpr bool holds = [] {
    if constexpr (!detail::keeps_last<Checkpoint>) return true;
    else if constexpr (Checkpoint::whole == 0 || Checkpoint::whole >= Depth) return false;
    else return kept_blocks_below_depth<typename Checkpoint::Last, Checkpoint::whole>::holds;
  }();
  struct must_hold {
    static_assert(
        holds,
        "regimen: KeepLast<K> keeps the last K blocks of more, and this model has others; write 0 < K < their number");
  };
};

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

/// Offload leaves the last two blocks of a Repeat on the device, and a block without a backward saves nothing.
///   Moves: whether the plan has bytes of the host's memory   docs/errors/checkpointing.md#offload_moves_blocks
template <class Checkpoint, bool Moves>
struct offload_moves_blocks {
  static constexpr bool holds = Moves;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Checkpoint<Offload> moves the blocks of a Repeat of 3 or more; this model trains none; write Selective<...>");
  };
};

/// On the CPU there is one memory.   docs/errors/checkpointing.md#offload_needs_two_memories
template <class Checkpoint, class Device>
struct offload_needs_two_memories {
  static constexpr bool holds = !Checkpoint::offloads || engines::TraitsOf<typename Device::where>::offloads;
  struct must_hold {
    static_assert(
        holds, "regimen: Checkpoint<Offload> moves tensors to the host, whose memory is this Device's; write Every<N>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
