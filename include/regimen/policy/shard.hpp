// regimen/policy/shard.hpp — what each rank keeps of the weights, the gradients and the optimizer state.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

namespace regimen {

namespace detail {
/// The stage of ZeRO, and the ranks of a group that keeps a whole between them; 0: all.
template <int level_, std::size_t group_ = 0>
struct ShardStage {
  using option_of = regimen::axis::shard;
  static constexpr int level = level_;
  static constexpr std::size_t group = group_;
};
}  // namespace detail

/// Every rank keeps everything.
struct Replicated final : detail::ShardStage<0> {};

/// The stages of ZeRO: the state of the optimizer and the master weights, also the gradients, also the weights that kernels read
/// are kept in slices, one a rank.
struct ZeRO1 final : detail::ShardStage<1> {};
struct ZeRO2 final : detail::ShardStage<2> {};
struct ZeRO3 final : detail::ShardStage<3> {};

/// ZeRO-3 within groups of N neighbouring ranks, replicated over the groups: weights are gathered within a group alone, which
/// should be what a fast network joins.
///
/// wire    in elements, of each rank: gathers of ZeRO-3 within the group, Ψ (N − 1) / N each; of a reduction Ψ (N − 1) / N within it and
///         2 (Ψ / N) (R / N − 1) / (R / N) over the groups of all R ranks
/// sums    over a group, then over groups: the bits of the other stages where N is a power of two, or all ranks, and gradients are
///         reduced in fp32 or fp64; otherwise the same numbers in another order
/// refuses N below 2; a World<R> that N does not divide. failure: Error when there are not a multiple of N ranks
/// source  Zhao et al. 2023, "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel", section 3.2.2
template <std::size_t N>
struct Hybrid final : detail::ShardStage<3, N> {};

/// How many units are gathered ahead of the one that computes: 1 hides the gather behind it, 0 keeps one gathered unit less.
template <std::size_t N>
struct Prefetch final {
  using option_of = regimen::axis::shard;
};

/// With Checkpoint<Every<N>>: a segment that is computed again gathers its N units together, and keeps them until it was walked back. Without it
/// each unit is gathered for the recomputation, and but for the last one once more for its backward.
///
/// cost  N gathered units in place of two; on the wire what Every<1> sends, 3 Ψ (N − 1) / N at most, in place of up to 4
struct KeepSegments final {
  using option_of = regimen::axis::shard;
};

/// Gradients of neighbouring units are summed over the ranks together, once at least so many bytes of them wait: `Bucket<25_MiB>`. Fewer
/// and larger collectives, which a network with high latency wants; the sums have the same bits. Without it each unit travels alone.
///
/// cost    the first gradients of a bucket wait for the last ones; memory for the transport of one bucket
/// source  Li et al. 2020, "PyTorch Distributed: experiences on accelerating data parallel training", section 3.2.3
template <std::size_t Bytes>
struct Bucket final {
  using option_of = regimen::axis::shard;
  static constexpr std::size_t bytes = Bytes;
};

/// Which layers are units, whose weights are gathered and whose gradients are reduced by themselves: the children of the model, and the
/// blocks of its Repeats, for which `Predicate<Layer>::value` is true. Other layers with weights are one unit with their neighbours; of a Repeat
/// whose block is not chosen, all iterations. A tied table always is a unit of its own.
///
///   template <class Layer>
///   struct is_block : std::is_same<Layer, Block> {};
///   Shard<ZeRO3, WrapIf<is_block>>
///
/// asked   with a layer as the model's list names it, and for Repeat<N, B> with B. What is made of other layers (Sequential, As, a SelfAttention
/// among
///         the children) is written out before; ask for what it holds
/// refuses a predicate that is true of no layer with weights of the model
template <template <class> class Predicate>
struct WrapIf final {
  using option_of = regimen::axis::shard;
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

/// Does the option change anything of this stage?
template <class Stage, class Option>
inline constexpr bool shard_takes = wraps_units<Option> || (Stage::level == 0 && bucket_bytes<Option> > 0) ||
                                    (Stage::level == 3 && is_any_of<Option, Prefetch<0>, Prefetch<1>, KeepSegments>);
}  // namespace detail

/// The names that FSDP gives to them.
using NoShard = Replicated;
using ShardGradOp = ZeRO2;
using FullShard = ZeRO3;

/// Decides what a rank stores between its uses.
///
///   choices   Shard<Replicated>, ZeRO1, ZeRO2, ZeRO3, Hybrid<N>; all with WrapIf<Predicate>, Replicated with Bucket<Bytes>, the last
///             two with Prefetch<N> and KeepSegments
///   default   Shard<Replicated>; every child of the model and every iteration of a Repeat is a unit, and reduced by itself; Prefetch<1>; segments
///             gather again
///   refuses   any but Replicated, and any option, without a Communicator; an option where it would change nothing: Prefetch and KeepSegments where
///             nothing is gathered, KeepSegments without segments, Bucket where every unit is cut by itself, which is everywhere but under Replicated
///
/// What travels has the element types of Precision: weights that of Compute, gradients that of Reduce.
///
///   source    Rajbhandari, Rasley, Ruwase, He 2020, "ZeRO: memory optimizations toward training trillion parameter models"
template <class Stage, class... Options>
struct Shard final {
  using axis = regimen::axis::shard;
  using stage = Stage;
  using wrap = typename detail::wrap_among<Options...>::type;
  static constexpr bool has_options = sizeof...(Options) > 0;
  static constexpr bool prefetches = !detail::is_any_of<Prefetch<0>, Options...>, keeps = detail::is_any_of<KeepSegments, Options...>;
  static constexpr std::size_t bucket = (detail::bucket_bytes<Options> + ... + std::size_t{0});
  static constexpr bool options_fit = [] {
    if constexpr (!requires { Stage::level; }) return false;
    else if constexpr (sizeof...(Options) == 0) return true;
    else
      return (detail::shard_takes<Stage, Options> && ...) && (detail::is_any_of<Options, Prefetch<0>, Prefetch<1>> + ...) <= 1 &&
             (detail::is_any_of<Options, KeepSegments> + ...) <= 1 && ((detail::bucket_bytes<Options> > 0) + ...) <= 1 &&
             (detail::wraps_units<Options> + ...) <= 1;
  }();
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
