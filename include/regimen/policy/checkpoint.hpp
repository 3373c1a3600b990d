// regimen/policy/checkpoint.hpp — which activations are saved for backward, and which are recomputed.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstddef>

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
///   choices   Checkpoint<None>, Checkpoint<Every<N>>, Checkpoint<Selective<Layers...>>
///   default   Checkpoint<None>
///   refuses   Every<0>; N above the depth of the model; Selective<>; layers that the model does not
///             have; Offload and Budget for now
///   cost      Every<N>: one more forward pass; saves depth / N inputs, and the tensors of one segment at a time.
///             Selective: one more forward of the named layers; saves their inputs in place of their outputs
///
///   segment                blocks from one saved input to the next; 0: blocks are not recomputed
///   recomputes<Layer>      whether the output of Layer is computed again in backward
template <class Schedule>
struct Checkpoint final {
  using axis = regimen::axis::checkpoint;
  using schedule = Schedule;
  static constexpr std::size_t segment = Schedule::segment;
  template <class Layer>
  static constexpr bool recomputes = Schedule::template recomputes<Layer>;
};

template <>
struct Checkpoint<None> final {
  using axis = regimen::axis::checkpoint;
  using schedule = None;
  static constexpr std::size_t segment = 0;
  template <class Layer>
  static constexpr bool recomputes = false;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
