// regimen/walk/offloaded_blocks.hpp — the blocks of a Repeat under Checkpoint<Offload>: the tensors that they save go to
// the host's memory, and come back before their backward.
//
// A block computes on top of the saved stack, where its backward reads what it has saved: a copy of its input first,
// then the tensors that its layers push. Below lies one place of the same bytes, from which the block before is copied
// to the host meanwhile, and to which in backward the block after next is copied back. The last block stays on top,
// the last but one below.
#pragma once

#include <regimen/walk/blocks.hpp>

#include <cstddef>

namespace regimen::walk {

/// All blocks of a Repeat, of which there are more than two.
template <class Of>
struct OffloadedBlocks : Blocks<Of, 0, Of::count> {
  static constexpr std::size_t count = Of::count;
  using All = Blocks<Of, 0, count>;
  using All::between;
  using typename All::Body, typename All::X;
  static constexpr bool reads_input = false;

  static constexpr std::size_t footprint(const auto& walk, Place place) {
    return moved_bytes(walk) + input_bytes(walk) + Body::footprint(walk, place);
  }
  static constexpr std::size_t forward(auto& walk, Tensor x, const WeightPlaces& weights, const LayerPath& path,
                                       const Way& way) {
    if (way.mode == Mode::discard) return All::forward(walk, x, weights, path, way);
    const BlockRange range = All::all(walk, weights, path);
    const std::size_t bytes = moved_bytes(walk), host = walk.host.push((count - 2) * bytes),
                      below = walk.arena.push(bytes, MemoryKind::saved, path.repeated(0, count)), top = walk.arena.top;
    std::size_t ticket = no_ticket;
    iterate(walk, count - 1, 0, unit_bytes(walk), true, [&](std::size_t i) {
      const std::size_t y = run_on_top(walk, range, i, x, {way.mode, between});
      if (i > 0) walk.engine.await_copy(ticket);
      copy(walk, top, below, bytes, path.repeated(i, count));
      if (i + 2 < count) ticket = walk.engine.offload({below, host + i * bytes, bytes, path.repeated(i, count)});
      walk.arena.pop_to(top);
      x = between == Place::saved ? Tensor{just_below<X>(walk, top), false} : Tensor{y, true};
    });
    return run_on_top(walk, range, count - 1, x, way);
  }
  static constexpr std::size_t backward(auto& walk, Tensor d_y, std::size_t, std::size_t below,
                                        const WeightPlaces& weights, const LayerPath& path, Place place) {
    const BlockRange range = All::all(walk, weights, path);
    const std::size_t bytes = moved_bytes(walk), host = walk.host.pop((count - 2) * bytes), top = below + bytes;
    const auto back = [&](std::size_t i, Place here) {
      d_y = {run_block_back(walk, range, i, d_y, Body::reads_input ? top : absent, top + input_bytes(walk), here),
             true};
      walk.arena.pop_to(top);
    };
    back(count - 1, place);
    std::size_t ticket = no_ticket;
    iterate(walk, count - 1, 0, unit_bytes(walk), false, [&](std::size_t behind) {
      const std::size_t i = count - 2 - behind;
      const LayerPath here = path.repeated(i, count);
      if (behind > 0) walk.engine.await_copy(ticket);
      walk.arena.push(bytes, MemoryKind::saved, here);
      copy(walk, below, top, bytes, here);
      if (i > 0) ticket = walk.engine.fetch({below, host + (i - 1) * bytes, bytes, path.repeated(i - 1, count)});
      Body::retire_output(walk, between);
      back(i, between);
    });
    walk.arena.pop_to(below);
    return passed_on(walk, d_y.offset);
  }

 private:
  using All::passed_on, All::run_block, All::run_block_back, All::unit_bytes;

  static constexpr std::size_t input_bytes(const auto& walk) { return Body::reads_input ? bytes_of<X>(walk) : 0; }
  /// What a block has saved.
  static constexpr std::size_t moved_bytes(const auto& walk) {
    return input_bytes(walk) + Body::footprint(walk, between);
  }
  static constexpr void copy(auto& walk, std::size_t from, std::size_t to, std::size_t bytes, const LayerPath& path) {
    walk.path = path;
    walk.run(op::Copy<fp32>{{from}, {to}, bytes / sizeof(fp32)});
  }
  static constexpr std::size_t run_on_top(auto& walk, const BlockRange& range, std::size_t i, Tensor x,
                                          const Way& way) {
    if constexpr (Body::reads_input) {
      const LayerPath here = range.path.repeated(i, count);
      const std::size_t kept = walk.arena.push(bytes_of<X>(walk), MemoryKind::saved, here);
      copy(walk, x.offset, kept, bytes_of<X>(walk), here);
      if (x.owned) walk.arena.give(x.offset);
      x = {kept, false};
    }
    return run_block(walk, range, i, x, way);
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
