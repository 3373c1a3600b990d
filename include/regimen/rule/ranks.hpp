// regimen/rule/ranks.hpp — rules about ranks: communicators, the world, sharding.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/engine/plan/devices.hpp>
#include <regimen/policy/accumulate.hpp>
#include <regimen/policy/checkpoint.hpp>
#include <regimen/policy/communicator.hpp>
#include <regimen/policy/shard.hpp>
#include <regimen/policy/world.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// Zero ranks train nothing, and two numbers contradict each other.   docs/errors/ranks.md#world_is_a_number
template <class World>
struct world_is_a_number {
  static constexpr bool holds = World::is_one_number;
  struct must_hold {
    static_assert(holds, "regimen: World<N> takes one number, and N >= 1; write World<4>, or leave it out");
  };
};

/// Communicator<Solo> has one rank.
/// docs/errors/ranks.md#world_needs_communicator
template <class World, class Communicator>
struct world_needs_communicator {
  static constexpr bool holds = World::ranks <= 1 || !std::is_same_v<typename Communicator::ranks, Solo>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: World<N> has several ranks, and there is no Communicator; write Communicator<Threads>, <Tcp> or <Mpi>");
  };
};

/// The names are reserved; to train on one rank instead would give another result.
/// docs/errors/ranks.md#communicator_is_built
template <class Communicator>
struct communicator_is_built {
  static constexpr bool holds = Communicator::ranks::is_built;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this communicator is not built; write Communicator<Threads>, <Tcp>, <Mpi> or <Nccl>, or leave it out");
  };
};

/// If a child of the model, or the block of a Repeat, has weights of several element types,
/// or freezes some, no slice fits
/// all its buffers.   docs/errors/ranks.md#shard_cuts_even_units
template <class Shard, class Unit>
struct shard_cuts_even_units {
  static constexpr bool holds = never<Unit>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Shard<...> cuts units whose weights are of one element type, and all trained or all frozen; make this layer a unit "
        "(a child of the model, WrapIf), or keep it Replicated");
  };
};

/// A single rank would keep every slice and save nothing.
/// docs/errors/ranks.md#shard_needs_communicator
template <class Shard, class Communicator>
struct shard_needs_communicator {
  static constexpr bool holds =
      (Shard::stage::level <= 0 && !Shard::has_options) || !std::is_same_v<typename Communicator::ranks, Solo>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Shard<...> says what is exchanged among ranks, and there is no Communicator; write Communicator<Threads>, <Tcp> or <Mpi>");
  };
};

/// A single rank would keep every slice and save nothing.   docs/errors/ranks.md#shard_needs_ranks
template <class Shard, class World>
struct shard_needs_ranks {
  static constexpr bool holds = (Shard::stage::level <= 0 && !Shard::has_options) || World::ranks != 1;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Shard<...> says what is exchanged among ranks, and World<1> is one; write more, or leave World out");
  };
};

/// Where ranks keep whole weights nothing is gathered, and where they keep slices of gradients each unit is reduced by
/// itself: options about these would be ignored. Prefetching one unit hides its gather behind compute; prefetching more
/// would take memory and gain no time.   docs/errors/ranks.md#shard_options_fit
template <class Shard>
struct shard_options_fit {
  static constexpr bool holds = Shard::options_fit;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this Shard<...> would ignore an option; Prefetch<0|1> and KeepSegments are for ZeRO3 and Hybrid, Bucket<1 or more> for Replicated");
  };
};

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

template <std::size_t ranks, class Stage>
inline constexpr bool groups_divide = true;
template <std::size_t ranks, std::size_t N>
inline constexpr bool groups_divide<ranks, Hybrid<N>> = N >= 2 && ranks % (N > 0 ? N : 1) == 0;

/// Hybrid<N> cuts the ranks into groups of N ≥ 2. Under World<> the Trainer's constructor checks this.
/// docs/errors/ranks.md#groups_divide_world
template <class Shard, class World>
struct groups_divide_world {
  static constexpr bool holds = groups_divide<World::ranks, typename Shard::stage>;
  struct must_hold {
    static_assert(holds, "regimen: Hybrid<N> makes groups of N ranks; write an N of at least 2 that divides the World");
  };
};

/// Whether some blocks are computed again in segments of several: all but the last, or these by a KeepLast of their
/// own.
template <class Checkpoint>
inline constexpr bool has_long_segments = Checkpoint::segment >= 2 || has_long_segments<typename Checkpoint::Last>;
template <>
inline constexpr bool has_long_segments<Checkpoint<None>> = false;

/// A segment of one unit stays gathered anyway, and without Every<N> there are no
/// segments: the option would be ignored.
/// Units: whether the iterations of a Repeat are units under the WrapIf, if there is one.
/// docs/errors/ranks.md#kept_segments_exist
template <class Shard, class Checkpoint, bool Units = true>
struct kept_segments_exist {
  static constexpr bool holds = !Shard::keeps || (has_long_segments<Checkpoint> && Units);
  struct must_hold {
    static_assert(
        holds,
        "regimen: KeepSegments keeps the units of a segment that is computed again; write Every<N>, N >= 2, and let the block of a Repeat be a unit");
  };
};

/// A predicate that is true of no layer would make the whole model one unit, gathered at
/// once. Found: whether it is true of
/// a child with weights, or of the block of a Repeat.   docs/errors/ranks.md#wrap_matches_a_layer
template <class Wrap, bool Found = false>
struct wrap_matches_a_layer {
  static constexpr bool holds = Found;
  struct must_hold {
    static_assert(
        holds,
        "regimen: WrapIf<P> is true of no layer with weights; P<Layer> is asked of the model's children, and of Repeat<N, B> with B");
  };
};

/// ReduceOnce and ReduceEach contradict each other; the same one twice is redundant.
/// docs/errors/ranks.md#reduces_in_one_way
template <class Accumulate>
struct reduces_in_one_way {
  static constexpr bool holds = Accumulate::answers <= 1;
  struct must_hold {
    static_assert(holds, "regimen: Accumulate<N, ...> takes ReduceOnce or ReduceEach; keep one of them");
  };
};

/// A single rank reduces nothing, so the option would be ignored.   docs/errors/ranks.md#reduction_needs_communicator
template <class Accumulate, class Communicator>
struct reduction_needs_communicator {
  static constexpr bool holds = Accumulate::answers == 0 || !std::is_same_v<typename Communicator::ranks, Solo>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: ReduceOnce and ReduceEach say when ranks sum gradients; write Communicator<...>, or Accumulate<N> alone");
  };
};

/// Whether the ranks of a communicator may use a device.
template <class Communicator, class Device>
inline constexpr bool takes_ranks =
    engines::TraitsOf<typename Device::where>::template takes_ranks<typename Communicator::ranks>;

/// A GPU's ranks are connected by NCCL alone, and nothing else is.   docs/errors/ranks.md#nccl_connects_gpus
template <class Communicator, class Device>
struct nccl_connects_gpus {
  static constexpr bool holds = takes_ranks<Communicator, Device> || !connects_gpus<typename Communicator::ranks>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Communicator<Nccl> connects GPUs; write Device<Cuda>, or Communicator<Threads>, <Tcp> or <Mpi>");
  };
};

/// Whether the engine of a configuration has the library that connects GPUs, if it needs it; CMake's target
/// regimen::nccl says so, which exists where the library was found. An engine that does not say so is refused by
/// nccl_connects_gpus.
template <class Configuration>
inline constexpr bool finds_nccl = !connects_gpus<typename Configuration::communicator::ranks> ||
                                   !requires { requires !engines::OfConfiguration<Configuration>::Traits::has_nccl; };
/// Found: finds_nccl
/// docs/errors/ranks.md#nccl_is_found
template <class Communicator, class Device, bool Found>
struct nccl_is_found {
  static constexpr bool holds = Found;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this program has no NCCL; link regimen::nccl and regimen::cuda, not cuda_compiled, or leave Communicator out");
  };
};

/// A communicator of hosts does not read a GPU's memory.   docs/errors/ranks.md#device_takes_ranks
template <class Device, class Communicator>
struct device_takes_ranks {
  static constexpr bool holds = takes_ranks<Communicator, Device> ||
                                std::is_same_v<typename Communicator::ranks, Solo> ||
                                connects_gpus<typename Communicator::ranks>;
  struct must_hold {
    static_assert(holds,
                  "regimen: this communicator does not reach the memory of this device; write Communicator<Nccl>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
