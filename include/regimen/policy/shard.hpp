// regimen/policy/shard.hpp — which slices of the weights, the gradients and the optimizer state each rank keeps.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

namespace detail {
/// The ZeRO stage, and the number of ranks among which a tensor is sharded; 0: all ranks.
template <int level_, std::size_t group_ = 0>
struct ShardStage : OptionOf<axis::shard> {
  static constexpr int level = level_;
  static constexpr std::size_t group = group_;
};
}  // namespace detail

/// Every rank keeps all tensors whole.
struct Replicated final : detail::ShardStage<0> {};

/// The stages of ZeRO. Each rank keeps one slice: ZeRO1 of the optimizer state and the master weights, ZeRO2 also of
/// the gradients, ZeRO3 also of the weights that kernels read.
struct ZeRO1 final : detail::ShardStage<1> {};
struct ZeRO2 final : detail::ShardStage<2> {};
struct ZeRO3 final : detail::ShardStage<3> {};

/// ZeRO-3 within groups of N neighbouring ranks; each group has all tensors. Ranks gather weights within their group,
/// so give a group a fast network.
///
/// wire    elements that each rank sends: an all-gather Ψ (N − 1) / N, within the group; a reduction Ψ (N − 1) / N
///         within the group and 2 (Ψ / N) (R / N − 1) / (R / N) over the groups of all R ranks
/// sums    first over a group, then over the groups. The bits equal those of the other stages, if N is a power of two
///         or the number of ranks, and gradients are reduced in fp32 or fp64; otherwise the order of the sums differs
/// refuses N below 2; a World<R> that N does not divide
/// failure Error, if the number of ranks is no multiple of N
/// source  Zhao et al. 2023, "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel", section 3.2.2
template <std::size_t N>
struct Hybrid final : detail::ShardStage<3, N> {};

/// The number of units that are gathered ahead of the computing one: 1 overlaps the gather with compute, 0 keeps one
/// gathered unit less in memory.
template <std::size_t N>
struct Prefetch final : detail::OptionOf<axis::shard> {};

/// With Checkpoint<Every<N>>: the N units of a segment are gathered for its recomputation, and stay gathered until its
/// backward ends. Without KeepSegments each unit is gathered for the recomputation and, except the last one, again for
/// its backward.
///
/// cost  N gathered units in place of two; sends as much as Every<1>, at most 3 Ψ (N − 1) / N, in place of up to 4
struct KeepSegments final : detail::OptionOf<axis::shard> {};

/// Reduces the gradients of neighbouring units together, as soon as they have at least Bytes: `Bucket<25_MiB>`. The
/// collectives are fewer and larger, for networks with high latency; the sums have the same bits. Without a Bucket each
/// unit is reduced by itself.
///
/// cost    the first gradients of a bucket wait for its last ones; memory for the transport of one bucket
/// source  Li et al. 2020, "PyTorch Distributed: experiences on accelerating data parallel training", section 3.2.3
template <std::size_t Bytes>
struct Bucket final : detail::OptionOf<axis::shard> {
  static constexpr std::size_t bytes = Bytes;
};

/// Chooses the units: layers whose weights are gathered together, and whose gradients are reduced together. A child of
/// the model, or the block of one of its Repeats, is a unit if `Predicate<Layer>::value` is true. Neighbouring other
/// layers with weights form one unit; a Repeat whose block is not chosen belongs to it with all its iterations. A tied
/// table is always a unit of its own.
///
///   template <class Layer>
///   struct is_block : std::is_same<Layer, Block> {};
///   Shard<ZeRO3, WrapIf<is_block>>
///
/// layers  the predicate sees a child as the model's list names it, and B of a Repeat<N, B>. In place of a composite
///         (Sequential, As, SelfAttention) it sees the layers inside
/// refuses a predicate that is true for no layer with weights
template <template <class> class Predicate>
struct WrapIf final : detail::OptionOf<axis::shard> {
  template <class Layer>
  static constexpr bool wraps = Predicate<Layer>::value;
};

namespace detail {
template <class Option>
inline constexpr std::size_t bucket_bytes = 0;
template <std::size_t Bytes>
inline constexpr std::size_t bucket_bytes<Bucket<Bytes>> = Bytes;

template <class Option>
inline constexpr bool wraps_units = false;
template <template <class> class Predicate>
inline constexpr bool wraps_units<WrapIf<Predicate>> = true;

template <class... Options>
struct wrap_among {
  using type = void;
};
template <class Option, class... Rest>
struct wrap_among<Option, Rest...> : wrap_among<Rest...> {};
template <template <class> class Predicate, class... Rest>
struct wrap_among<WrapIf<Predicate>, Rest...> {
  using type = WrapIf<Predicate>;
};

/// Whether the option has an effect under this stage.
template <class Stage, class Option>
inline constexpr bool shard_takes = wraps_units<Option> || (Stage::level == 0 && bucket_bytes<Option> > 0) ||
                                    (Stage::level == 3 && is_any_of<Option, Prefetch<0>, Prefetch<1>, KeepSegments>);
}  // namespace detail

/// The stages by their FSDP names.
using NoShard = Replicated;
using ShardGradOp = ZeRO2;
using FullShard = ZeRO3;

/// Decides which tensors a rank keeps whole, and of which tensors it keeps a slice.
///
///   choices   Shard<Replicated>, ZeRO1, ZeRO2, ZeRO3, Hybrid<N>. Options: WrapIf<Predicate> for all of these,
///             Bucket<Bytes> for Replicated, Prefetch<N> and KeepSegments for ZeRO3 and Hybrid<N>
///   default   Shard<Replicated>: every child of the model and every iteration of a Repeat is a unit, which is reduced
///             by itself; Prefetch<1>; no KeepSegments
///   refuses   without a Communicator: every stage except Replicated, and every option. An option without effect:
///             Prefetch and KeepSegments under a stage that gathers no weights, KeepSegments without segments, Bucket
///             under a stage other than Replicated, since the other stages slice each unit by itself
///   effect    programs/facts.hpp (sharding_of), walk/sharding.hpp (ShardingOf), walk/unit.hpp (prefetches, bucket),
///             walk/grouping.hpp (wraps), walk/segments.hpp (keeps)
///
/// Ranks exchange weights in Compute and gradients in Reduce, the element types of Precision.
///
///   source    Rajbhandari, Rasley, Ruwase, He 2020, "ZeRO: memory optimizations toward
///             training trillion parameter models"
template <class Stage, class... Options>
struct Shard final {
  using axis = regimen::axis::shard;
  using stage = Stage;
  using wrap = typename detail::wrap_among<Options...>::type;
  static constexpr bool has_options = sizeof...(Options) > 0;
  static constexpr bool prefetches = !detail::is_any_of<Prefetch<0>, Options...>,
                        keeps = detail::is_any_of<KeepSegments, Options...>;
  static constexpr std::size_t bucket = (detail::bucket_bytes<Options> + ... + std::size_t{0});
  static constexpr bool options_fit = [] {
    if constexpr (!requires { Stage::level; }) return false;
    else if constexpr (sizeof...(Options) == 0) return true;
    else
      return (detail::shard_takes<Stage, Options> && ...) &&
             (detail::is_any_of<Options, Prefetch<0>, Prefetch<1>> + ...) <= 1 &&
             (detail::is_any_of<Options, KeepSegments> + ...) <= 1 &&
             ((detail::bucket_bytes<Options> > 0) + ...) <= 1 && (detail::wraps_units<Options> + ...) <= 1;
  }();
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
