// regimen/kernel/input.hpp — the next micro-batch from the ring of inputs, and the results of a step.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>

namespace regimen::kernel {

namespace detail {
/// Both begin at a multiple of 16 bytes, as all of the arena's tensors do.
REGIMEN_HD_UNCHECKED
template <class Block>
REGIMEN_HD void copy_bytes(const Block& block, std::byte* to, const std::byte* from, std::size_t bytes) {
  using Piece = Pack<std::byte, 16>;
  for_pieces(block, bytes / 16,
             [&](std::size_t i) { reinterpret_cast<Piece*>(to)[i] = reinterpret_cast<const Piece*>(from)[i]; });
  for_pieces(block, bytes % 16, [&](std::size_t i) { to[bytes / 16 * 16 + i] = from[bytes / 16 * 16 + i]; });
}
}  // namespace detail

/// The copies; then one thread counts.
///
/// cost   reads and writes the micro-batch once
template <>
struct Kernel<op::TakeInput, 0> final {
  static constexpr unsigned passes = 2, threads = detail::flat_threads;
  op::TakeInput o;
  Memory at;

  constexpr unsigned blocks() const {
    return blocks_for((o.input_bytes > o.target_bytes ? o.input_bytes : o.target_bytes) / 16 + 1, threads);
  }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::byte* const slot = at.base + o.ring.slot(*at(o.ring.taken));
    detail::copy_bytes(block, reinterpret_cast<std::byte*>(at(o.scalars)), slot, given_bytes);
    detail::copy_bytes(block, at(o.input), slot + o.ring.input, o.input_bytes);
    detail::copy_bytes(block, at(o.target), slot + o.ring.target, o.target_bytes);
  }
};
REGIMEN_HD constexpr std::size_t pieces(const op::TakeInput&, Launch<1>) { return 1; }
REGIMEN_HD inline void compute(const op::TakeInput& o, const Memory& at, std::size_t, Launch<1>) {
  ++*at(o.ring.taken);
}

REGIMEN_HD inline void decide(const op::KeepResults& o, const Memory& at) { *at(o.to) = *at(o.scalars); }

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
