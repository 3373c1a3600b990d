// regimen/policy/checkpoint.hpp — which activations are saved for backward, and which are recomputed.
#pragma once

#include <regimen/policy/policy.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace regimen {

namespace detail {
/// The kinds of schedules; a Checkpoint has at most one schedule of each kind. One of the kind `other` stands alone.
enum class ScheduleKind { blocks, layers, whole, other };

/// What schedules have in common.   segment, whole   see Checkpoint
template <ScheduleKind kind_, std::size_t segment_ = 0, std::size_t whole_ = 0>
struct ScheduleOf : OptionOf<axis::checkpoint> {
  static constexpr ScheduleKind kind = kind_;
  static constexpr std::size_t segment = segment_, whole = whole_;
  template <class Layer>
  static constexpr bool recomputes = false;
};
}  // namespace detail

/// Saves the input of every N-th block, and recomputes the tensors of the blocks between two saved inputs. N need not
/// divide the depth: the last segment is then shorter.
template <std::size_t N>
struct Every final : detail::ScheduleOf<detail::ScheduleKind::blocks, N> {};

template <class... Schedules>
struct Checkpoint;

/// The last K blocks of each Repeat keep their tensors, or follow the schedules given here; the other schedules of the
/// Checkpoint apply to the blocks before: `Checkpoint<Every<2>, KeepLast<8>>`,
/// `Checkpoint<Every<2>, KeepLast<8, Every<1>, Selective<Gelu>>>`. Backward frees the tensors of the last blocks before
/// it recomputes the others. In a Repeat of K blocks or fewer all blocks are last ones.
template <std::size_t K, class... Schedules>
struct KeepLast final : detail::ScheduleOf<detail::ScheduleKind::whole, 0, K> {};

/// Recomputes the outputs of all layers of these types: `Selective<Gelu, LayerNorm>`.
template <class... Layers>
struct Selective final : detail::ScheduleOf<detail::ScheduleKind::layers> {
  template <class Layer>
  static constexpr bool recomputes = detail::is_any_of<Layer, Layers...>;
};

/// Recomputes the outputs of all layers of the model for which Predicate is true, and whole blocks for which it is
/// true, as Checkpointed<...> does.
///
///   layers    the predicate sees each layer of the model, also inside blocks, branches and composites (Sequential, As,
///             SelfAttention)
///   blocks    it also sees Residual, Fork, Shared, a combinator of the program's own, and the block of a Repeat, as
///             the predicate of WrapIf does. Forward saves the input of a chosen block, and backward computes all its
///             layers again; it computes a chosen block or layer inside this block once more, by itself. The predicate
///             sees no composite (Sequential, As, SelfAttention) as a whole, because the layers of a composite may be
///             computed as one with its neighbours: write Checkpointed<Layers...>, inside the model, to recompute any
///             part
///   by type   Predicate<Layer>::value is true: `If<is_activation>`, `If<is_residual>`
///   by cost   Predicate<Layer>::holds(flops, bytes) is true at every place of Layer in the model:
///             `If<FlopsPerByteBelow<8>::of>`. The predicate sees no blocks, and no layers that cannot be recomputed
///
///   flops   floating-point operations of the layer's forward for one sample, as the plan counts them: the mean of a
///           batch of 64. A fused operation, such as a product that applies its activation, counts as one layer
///   bytes   of the layer's output for one sample, in its stored element type
template <template <class> class Predicate>
struct If final : detail::ScheduleOf<detail::ScheduleKind::layers> {
  template <class Layer>
  static constexpr bool recomputes = Predicate<Layer>::value;
};

/// A predicate for If: layers whose forward takes fewer than Number floating-point operations for each byte of output,
/// which are cheap to compute again and large to keep: `Checkpoint<If<FlopsPerByteBelow<8>::of>>`.
///
///   flops / bytes < Number   flops and bytes as If defines them
///
/// The library's layers in fp32: copies 0, Dropout 0.5, LayerNorm and RmsNorm 2, activations 2.5 (with the bias before
/// them), Linear with C input channels C / 2. In 16 bits these numbers double, since an output has half the bytes.
template <std::size_t Number>
struct FlopsPerByteBelow final {
  template <class Layer>
  struct of {
    static constexpr bool holds(double flops, double bytes) { return flops < double(Number) * bytes; }
  };
};

/// Copies the saved tensors of the blocks of a Repeat to pinned memory of the host, and back before their backward.
/// Backward recomputes nothing. For a device with a memory of its own.
///
///   when      the device copies the tensors of a block out while the next block computes, and back while the backward
///             of the block after it computes. The last two blocks stay on the device. The device waits if the link is
///             slower than a block
///   memory    of the device: the saved tensors and inputs of two blocks, instead of all; of the host: the saved
///             tensors of all blocks but two. The plan has both (MemoryPlan::peak, MemoryPlan::host), the bytes that
///             cross the link (to_host, from_host), and their part of a step's time (seconds, if the Target states a
///             link)
///   blocks    of each Repeat of three or more blocks that trains. A Repeat inside a block moves with the block; a
///             Repeat inside Checkpointed<...> stays
///   cost      the traffic over the link; and the device copies the saved tensors of a block once in forward, and once
///             in backward
struct Offload final : detail::ScheduleOf<detail::ScheduleKind::blocks> {};

/// Chooses a schedule whose plan fits into Bytes: `Budget<80_GiB>`. The compiler plans a few schedules in an order, and
/// takes the first that fits; `Trainer::Schedule` is the Checkpoint<...> that it chose.
///
///   order     from no recomputation to the least memory. `cheap` stands for Selective<...> of the layers that
///             If<FlopsPerByteBelow<8>::of> chooses; it is left out if it saves no memory
///               1. None
///               2. cheap, if it recomputes no more than Every<1>
///               3. Every<1>, cheap, KeepLast<K, cheap>, or without cheap if cheap recomputes more than Every<1>:
///                  at most 16 numbers K, the largest first, if Every<1> fits and recomputes no less
///               4. Every<1>
///               5. cheap, if step 2 did not have it
///               6. Every<N>, cheap, for N = 1, 2, 4, 8, ..., up to the square root of the model's depth
///             Without a Repeat, or with a layer that cannot be computed again: None, cheap, the layers of
///             FlopsPerByteBelow<64>, and all layers
///   promises  the plan fits. A larger Budget recomputes no more floating-point operations. If Every<1> fits, the
///             budget is enough, and no more is recomputed than by Every<1>
///   gives up  the least recomputation: a schedule that is not in the order may fit and recompute less. The first K is
///             one above the K at which a straight line between the peaks of Every<1> and of all blocks kept reaches
///             Bytes; smaller K follow
///   refuses   a budget below the least peak of these schedules (the error states this peak); Batch<Largest>
///   cost      time of compilation: at most five plans, half a second each for a GPT of a few lines, if all Repeats are
///             alike and Every<1> fits; otherwise one plan for each schedule that does not fit
///   source    programs/budget.hpp
template <std::size_t Bytes>
struct Budget final : detail::ScheduleOf<detail::ScheduleKind::other> {};

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

/// Decides which tensors are saved for backward and which are recomputed (activation checkpointing). Results have the
/// same bits under every choice: recomputation has no side effects, and a random number depends only on its position.
///
///   choices   Checkpoint<None>, Checkpoint<Every<N>>, Checkpoint<Selective<Layers...>>, Checkpoint<If<Predicate>>
///             Checkpoint<Every<N>, Selective<Layers...>>, Checkpoint<Every<N>, If<Predicate>>: a recomputed segment
///               does not keep the outputs of these layers, and recomputes them once more
///             any of these with KeepLast<K> or KeepLast<K, Schedules...>: the last K blocks keep all tensors, or
///               follow these schedules
///             Checkpoint<Budget<Bytes>>: the compiler chooses the schedule
///             Checkpoint<Offload>: blocks go to the host's memory; with Selective<...> or If<Predicate> the outputs of
///               these layers, and the tensors of these blocks, are recomputed instead
///   default   Checkpoint<None>
///   refuses   Every<0>; an N above the depth of the model; a K of 0, or not below the depth; Selective<>; layers that
///             the model does not have; a predicate that chooses no layer and no block; schedules that contradict each
///             other; a Budget that no schedule fits; Offload on the CPU, whose memory is the host's; Offload for a
///             model without a Repeat of three blocks that trains
///   cost      Every<N>: one more forward pass; saves depth / N inputs, and the tensors of one segment at a time.
///             KeepLast<K>: saves the tensors of K blocks instead of recomputing them.
///             Selective: one more forward of the named layers; saves their inputs in place of their outputs.
///             If, for a block: one more forward of the block; saves its input in place of its tensors
///   effect    walk/segments.hpp (segment), walk/repeat.hpp (whole), walk/offloaded_blocks.hpp (OffloadedBlocks),
///             walk/node.hpp (recomputes), programs/budget.hpp (BudgetChoice)
///
///   segment                blocks from one saved input to the next; 0: blocks are not recomputed
///   whole, Last            the K of KeepLast, and the Checkpoint<...> of the last K blocks
///   repeats                whether any blocks are recomputed
///   offloads               whether blocks go to the host's memory
///   recomputes<Layer>      whether backward computes the output of Layer again
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

template <class Schedule>
inline constexpr ScheduleKind kind_of_schedule = [] {
  if constexpr (requires { requires std::same_as<decltype(Schedule::kind), const ScheduleKind>; })
    return Schedule::kind;
  else return ScheduleKind::other;
}();

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
