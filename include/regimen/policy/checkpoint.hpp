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
  static constexpr std::size_t segment = N;
  template <class Layer>
  static constexpr bool recomputes = false;
};

/// Recomputes the outputs of these layers, wherever they stand: `Selective<Gelu, LayerNorm>`.
template <class... Layers>
struct Selective final {
  using option_of = regimen::axis::checkpoint;
  static constexpr std::size_t segment = 0;
  template <class Layer>
  static constexpr bool recomputes = detail::is_any_of<Layer, Layers...>;
};

/// Recomputes the outputs of all layers of the model of which Predicate<Layer>::value is true, as Selective does of those
/// that it names: `If<is_activation>`.
template <template <class> class Predicate>
struct If final {
  using option_of = regimen::axis::checkpoint;
  static constexpr std::size_t segment = 0;
  template <class Layer>
  static constexpr bool recomputes = Predicate<Layer>::value;
};

/// Moves saved tensors to the host. Declared; refused until it is built.
struct Offload final {
  using option_of = regimen::axis::checkpoint;
};

/// Recomputes as little as fits into Bytes: `Budget<80_GiB>`. Declared; refused until it is built.
template <std::size_t Bytes>
struct Budget final {
  using option_of = regimen::axis::checkpoint;
};

/// Decides which tensors are saved for backward and which are recomputed (activation checkpointing). The result is
/// bit-equal under every choice: recomputation has no side effects, and random numbers depend on their position alone.
///
///   choices   Checkpoint<None>, Checkpoint<Every<N>>, Checkpoint<Selective<Layers...>>, Checkpoint<If<Predicate>>;
///             Checkpoint<Every<N>, Selective<Layers...>> and Checkpoint<Every<N>, If<Predicate>>: the tensors of a
///             segment, but for the outputs of these layers
///   default   Checkpoint<None>
///   refuses   Every<0>; N above the depth of the model; Selective<>; layers that the model does not
///             have; a predicate that is true of none; two schedules that contradict each other; Offload and Budget
///             for now
///   cost      Every<N>: one more forward pass; saves depth / N inputs, and the tensors of one segment at a time.
///             Selective: one more forward of the named layers; saves their inputs in place of their outputs
///
///   segment                blocks from one saved input to the next; 0: blocks are not recomputed
///   recomputes<Layer>      whether the output of Layer is computed again in backward
template <class... Schedules>
struct Checkpoint final {
  using axis = regimen::axis::checkpoint;
  static constexpr std::size_t segment = (std::max)({std::size_t{0}, Schedules::segment...});
  template <class Layer>
  static constexpr bool recomputes = (Schedules::template recomputes<Layer> || ...);
};

template <>
struct Checkpoint<None> final {
  using axis = regimen::axis::checkpoint;
  static constexpr std::size_t segment = 0;
  template <class Layer>
  static constexpr bool recomputes = false;
};

namespace detail {

/// The kinds of schedules: of each, a Checkpoint has at most one.
enum class ScheduleKind { blocks, layers, other };
template <class Schedule>
inline constexpr ScheduleKind kind_of_schedule = ScheduleKind::other;
template <std::size_t N>
inline constexpr ScheduleKind kind_of_schedule<Every<N>> = ScheduleKind::blocks;
template <class... Layers>
inline constexpr ScheduleKind kind_of_schedule<Selective<Layers...>> = ScheduleKind::layers;
template <template <class> class Predicate>
inline constexpr ScheduleKind kind_of_schedule<If<Predicate>> = ScheduleKind::layers;

}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
