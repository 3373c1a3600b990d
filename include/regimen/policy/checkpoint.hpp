// regimen/policy/checkpoint.hpp — which activations are saved for backward, and which are recomputed.
#pragma once

#include <regimen/policy/policy.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace regimen {

/// Saves the input of every N-th block and recomputes the tensors between. N need not divide the depth: the last
/// segment is then shorter.
template <std::size_t N>
struct Every final {
  using option_of = regimen::axis::checkpoint;
  static constexpr std::size_t segment = N, whole = 0;
  template <class Layer>
  static constexpr bool recomputes = false;
};

template <class... Schedules>
struct Checkpoint;

/// Other schedules are for all blocks but the last K of each Repeat. These keep all their tensors, or follow schedules of
/// their own: `Checkpoint<Every<2>, KeepLast<8>>`, `Checkpoint<Every<2>, KeepLast<8, Every<1>, Selective<Gelu>>>`.
/// Backward needs the last blocks first, so that they take no more memory than the others leave. A Repeat of K blocks or
/// fewer has no others.
template <std::size_t K, class... Schedules>
struct KeepLast final {
  using option_of = regimen::axis::checkpoint;
  static constexpr std::size_t segment = 0, whole = K;
  template <class Layer>
  static constexpr bool recomputes = false;
};

/// Recomputes the outputs of these layers, wherever they stand: `Selective<Gelu, LayerNorm>`.
template <class... Layers>
struct Selective final {
  using option_of = regimen::axis::checkpoint;
  static constexpr std::size_t segment = 0, whole = 0;
  template <class Layer>
  static constexpr bool recomputes = detail::is_any_of<Layer, Layers...>;
};

/// Recomputes the outputs of all layers of the model that Predicate chooses, as Selective does of those that it names.
///
///   asked     about each layer that the model is made of, wherever it stands: in blocks, branches and composites
///             (Sequential, As, SelfAttention), too. Not about these themselves: Every<1> recomputes blocks, and
///             Checkpointed<Layers...>, inside the model, any part. WrapIf<Predicate>, which chooses units, is asked about blocks
///   by type   Predicate<Layer>::value is true: `If<is_activation>`
///   by cost   Predicate<Layer>::holds(flops, bytes) is true at each place where Layer stands:
///             `If<FlopsPerByteBelow<8>::of>`. It is not asked of layers that cannot be recomputed
///
///   flops   floating-point operations of the layer's forward for one sample, as the plan counts them: the mean of a
///           batch of 64. What the device computes as one counts as one: a product that applies its activation
///   bytes   of its output for one sample, in the element type in which it is stored
template <template <class> class Predicate>
struct If final {
  using option_of = regimen::axis::checkpoint;
  static constexpr std::size_t segment = 0, whole = 0;
  template <class Layer>
  static constexpr bool recomputes = Predicate<Layer>::value;
};

/// For If: layers whose forward takes fewer than Number floating-point operations for each byte of its output:
/// `Checkpoint<If<FlopsPerByteBelow<8>::of>>`. So what is cheap to compute again and large to keep is recomputed, whatever
/// its type.
///
///   flops / bytes < Number   where If says what these are
///
/// Of the library's layers in fp32: copies 0, Dropout 0.5, LayerNorm and RmsNorm 2, activations 2.5 (with the bias before
/// them), Linear behind C channels C / 2. In 16 bits, where an output has half the bytes, twice as much.
template <std::size_t Number>
struct FlopsPerByteBelow final {
  template <class Layer>
  struct of {
    static constexpr bool holds(double flops, double bytes) { return flops < double(Number) * bytes; }
  };
};

/// Moves what the blocks of a Repeat save for backward to pinned memory of the host, and back before their backward:
/// nothing is computed again. For a device with a memory of its own.
///
///   when      the tensors of a block are copied out while the next block computes, and in while the backward of the block
///             after it does; the last two blocks stay on the device. Both wait where the link is slower than a block
///   memory    of the device: what two blocks save, each with its input, instead of what all of them do; of the host: what
///             all but two do. Both are in the plan (MemoryPlan::peak, MemoryPlan::host), as are the bytes that cross the
///             link (to_host, from_host) and their part of a step's time (seconds, where the Target states a link)
///   blocks    of each Repeat of three or more that trains; one inside another's block goes with that block, and one that
///             Checkpointed<...> walks again stays
///   cost      beside the link: what a block saves is copied once on the device in forward, and once in backward
struct Offload final {
  using option_of = regimen::axis::checkpoint;
  static constexpr std::size_t segment = 0, whole = 0;
  template <class Layer>
  static constexpr bool recomputes = false;
};

/// Recomputes as little as the plan needs to fit into Bytes: `Budget<80_GiB>`. The compiler chooses the schedule, in
/// the words of the others: `Trainer::Schedule`.
///
///   space     schedules of all blocks: Every<N> or none of it, N = 1, 2, 3, 4, 6, 8, 12, ... up to the first that is at
///             least the square root of the model's depth; and Selective<...> of any of the five layers of the model whose
///             outputs take most memory, and can be recomputed. And mixtures of any two of these, with KeepLast<K, ...>,
///             for every K; those next to each other on the line below which no schedule of all blocks lies also with one
///             to three blocks between that follow a third, where no segment is longer than a block. Of more than 40
///             schedules those are mixed that no other beats in all that they take; where Repeats are not alike, those
///             that no other beats in memory and operations, each with the two next to it on either side
///   chosen    of these the schedule of fewest floating-point operations whose plan fits; of equal ones that of least
///             memory. For GPT-2 of 48 blocks at most 1.07 times the recomputation of a dynamic program over blocks, but
///             where nearly nothing is recomputed. If the 24 cheapest by their outlines do not fit, which outlines seldom
///             leave open, the schedule of least memory; but for that a smaller budget takes no more memory. In a
///             combinator of a program's own outlines see its children, as if it added their outputs
///   refuses   a budget below the least peak of all of these, which the error says; Batch<Largest>
///   source    the bounds by which the compiler ranks schedules: program/outline.hpp; the search: program/budget.hpp
template <std::size_t Bytes>
struct Budget final {
  using option_of = regimen::axis::checkpoint;
  static constexpr std::size_t segment = 0, whole = 0, bytes = Bytes;
  template <class Layer>
  static constexpr bool recomputes = false;
};

namespace detail {

/// The schedules of KeepLast among others.
template <class... Schedules>
struct last_of {
  using type = Checkpoint<None>;
};
template <class First, class... Others>
struct last_of<First, Others...> : last_of<Others...> {};
template <std::size_t K, class... Schedules, class... Others>
struct last_of<KeepLast<K, Schedules...>, Others...> {
  using type = Checkpoint<Schedules...>;
};
template <std::size_t K, class... Others>
struct last_of<KeepLast<K>, Others...> : last_of<> {};

}  // namespace detail

/// Decides which tensors are saved for backward and which are recomputed (activation checkpointing). The result is
/// bit-equal under every choice: recomputation has no side effects, and random numbers depend on their position alone.
///
///   choices   Checkpoint<None>, Checkpoint<Every<N>>, Checkpoint<Selective<Layers...>>, Checkpoint<If<Predicate>>, of
///             which Checkpoint<If<FlopsPerByteBelow<Number>::of>> is ready;
///             Checkpoint<Every<N>, Selective<Layers...>> and Checkpoint<Every<N>, If<Predicate>>: the tensors of a
///             segment, but for the outputs of these layers; beside any of these KeepLast<K>: but the last K blocks, and
///             KeepLast<K, Schedules...>: but these by other schedules; Checkpoint<Budget<Bytes>>: the
///             compiler chooses;
///             Checkpoint<Offload>: blocks are moved to the host's memory, and not recomputed; beside it Selective<...> or
///             If<Predicate>: but for the outputs of these layers, which are not moved
///   default   Checkpoint<None>
///   refuses   Every<0>; N above the depth of the model; K that is 0, or not below it; Selective<>; layers that the model
///             does not have; a predicate that chooses none; two schedules that contradict each other; a Budget that
///             nothing fits; Offload on the CPU, whose memory is the host's; Offload for a model without a Repeat of
///             three blocks that trains
///   cost      Every<N>: one more forward pass; saves depth / N inputs, and the tensors of one segment at a time.
///             KeepLast<K>: the tensors of K blocks instead of their part of the pass.
///             Selective: one more forward of the named layers; saves their inputs in place of their outputs
///   effect    walk/repeat.hpp (segment, whole, offloads), walk/node.hpp (recomputes), program/budget.hpp (BudgetChoice)
///
///   segment                blocks from one saved input to the next; 0: blocks are not recomputed
///   whole, Last            the last blocks, for which there are other schedules: those
///   repeats                whether any blocks are
///   offloads               whether blocks are moved to the host's memory
///   recomputes<Layer>      whether the output of Layer is computed again in backward
template <class... Schedules>
struct Checkpoint final {
  using axis = regimen::axis::checkpoint;
  using Last = typename detail::last_of<Schedules...>::type;
  static constexpr std::size_t segment = (std::max)({std::size_t{0}, Schedules::segment...}),
                               whole = (std::max)({std::size_t{0}, Schedules::whole...});
  static constexpr bool repeats = segment > 0 || Last::repeats;
  static constexpr bool offloads = detail::is_any_of<Offload, Schedules...>;
  template <class Layer>
  static constexpr bool recomputes = (Schedules::template recomputes<Layer> || ...);
};

template <>
struct Checkpoint<None> final {
  using axis = regimen::axis::checkpoint;
  using Last = Checkpoint<None>;
  static constexpr std::size_t segment = 0, whole = 0;
  static constexpr bool repeats = false, offloads = false;
  template <class Layer>
  static constexpr bool recomputes = false;
};

namespace detail {

/// The kinds of schedules: of each, a Checkpoint has at most one.
enum class ScheduleKind { blocks, layers, whole, other };
template <class Schedule>
inline constexpr ScheduleKind kind_of_schedule = ScheduleKind::other;
template <std::size_t N>
inline constexpr ScheduleKind kind_of_schedule<Every<N>> = ScheduleKind::blocks;
template <>
inline constexpr ScheduleKind kind_of_schedule<Offload> = ScheduleKind::blocks;
template <std::size_t K, class... Schedules>
inline constexpr ScheduleKind kind_of_schedule<KeepLast<K, Schedules...>> = ScheduleKind::whole;
template <class... Layers>
inline constexpr ScheduleKind kind_of_schedule<Selective<Layers...>> = ScheduleKind::layers;
template <template <class> class Predicate>
inline constexpr ScheduleKind kind_of_schedule<If<Predicate>> = ScheduleKind::layers;

/// Whether KeepLast<K> is among the schedules.
template <class Checkpoint>
inline constexpr bool keeps_last = false;
template <class... Schedules>
inline constexpr bool keeps_last<Checkpoint<Schedules...>> =
    ((kind_of_schedule<Schedules> == ScheduleKind::whole) || ...);

/// The bytes of Checkpoint<Budget<Bytes>>; 0 of others.
template <class Checkpoint>
inline constexpr std::size_t budget_of = 0;
template <std::size_t Bytes>
inline constexpr std::size_t budget_of<Checkpoint<Budget<Bytes>>> = Bytes;
template <class Checkpoint>
inline constexpr bool has_budget = false;
template <std::size_t Bytes>
inline constexpr bool has_budget<Checkpoint<Budget<Bytes>>> = true;

}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
