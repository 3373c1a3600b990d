// regimen/walk/repeat.hpp — the walker of Repeat: which way its blocks are walked, and the last ones under KeepLast.
#pragma once

#include <regimen/walk/blocks.hpp>
#include <regimen/walk/offloaded_blocks.hpp>
#include <regimen/walk/segments.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::walk {

/// The context of the last blocks of a Repeat, which have schedules of their own.
template <class Context>
struct last_blocks : Context {
  using Checkpoint = typename Context::Checkpoint::Last;
  using inner = last_blocks<typename Context::inner>;
  template <class Other>
  using with_compute = last_blocks<typename Context::template with_compute<Other>>;
};

/// The context of `count` blocks: if KeepLast speaks of as many, all of them are its own.
template <class Context, std::size_t count,
          bool few = (Context::Checkpoint::whole > 0 && Context::Checkpoint::whole >= count)>
struct context_of_blocks {
  using type = Context;
};
template <class Context, std::size_t count>
struct context_of_blocks<Context, count, true> : context_of_blocks<last_blocks<Context>, count> {};

/// The walker of blocks under the same schedules.
template <class Of, std::size_t begin, std::size_t own>
using WalkerOfBlocks = std::conditional_t<Of::offloads, OffloadedBlocks<Of>,
                                          std::conditional_t<(Of::active && Of::Context::Checkpoint::segment > 0),
                                                             Segments<Of, begin, own>, Blocks<Of, begin, own>>>;

template <class Of, std::size_t begin>
struct KeptLast;
/// The walker of all blocks from `begin` on.
template <class Of, std::size_t begin>
using WalkerFrom = std::conditional_t<(Of::active && Of::Context::Checkpoint::whole > 0), KeptLast<Of, begin>,
                                      WalkerOfBlocks<Of, begin, Of::count - begin>>;

/// Blocks, and then the last ones, whose schedules are their own.
template <class Of, std::size_t begin>
struct KeptLast : WalkerOfBlocks<Of, begin, Of::count - begin - Of::Context::Checkpoint::whole> {
  static constexpr std::size_t last = Of::Context::Checkpoint::whole, seam_at = Of::count - last;
  using First = WalkerOfBlocks<Of, begin, seam_at - begin>;
  using Last =
      WalkerFrom<typename Of::template under<typename context_of_blocks<last_blocks<typename Of::Context>, last>::type>,
                 seam_at>;
  using typename First::X;
  static constexpr bool reads_output = Last::reads_output, keeps_d_y = Last::keeps_d_y;
  /// The place of the value between both.
  static constexpr Place seam = Last::reads_input || First::reads_output ? Place::saved : Place::transient;

  static constexpr std::size_t footprint(const auto& walk, Place place) {
    return First::footprint(walk, seam) + Last::footprint(walk, place);
  }
  static constexpr std::size_t forward(auto& walk, const Tensor& x, const WeightPlaces& weights, const LayerPath& path,
                                       const Way& way) {
    BlockRange range = First::all(walk, weights, path);
    if (way.mode == Mode::discard) {
      range.count += last;
      return First::run(walk, range, x, way);
    }
    walk.after = First::unit(walk, weights, seam_at, path);
    const std::size_t y = First::forward(walk, x, weights, path, {way.mode, seam});
    walk.after = range.after;
    return Last::forward(walk, Tensor{y, seam == Place::transient}, weights, path, way);
  }
  static constexpr void retire_output(auto& walk, Place place) { Last::retire_output(walk, place); }
  static constexpr std::size_t backward(auto& walk, Tensor d_y, std::size_t x, std::size_t floor,
                                        const WeightPlaces& weights, const LayerPath& path, Place place) {
    const NextUnit after = walk.after;
    const std::size_t bottom = floor + First::footprint(walk, seam);
    walk.after = First::first_of_backward(walk, weights, path);
    d_y = {Last::backward(walk, d_y, seam == Place::saved ? just_below<X>(walk, bottom) : absent, bottom, weights, path,
                          place),
           true};
    First::retire_output(walk, seam);
    walk.after = after;
    return First::backward(walk, d_y, x, floor, weights, path, seam);
  }
  static constexpr NextUnit first_of_backward(const auto& walk, const WeightPlaces& weights, const LayerPath& path) {
    return Last::first_of_backward(walk, weights, path);
  }
};

template <std::size_t Count, class Block, class X, class Context, bool flows>
struct Node<Repeat<Count, Block>, X, Context, flows>
    : WalkerFrom<Repetition<Count, Block, X, typename context_of_blocks<Context, Count>::type, flows>, 0> {};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
