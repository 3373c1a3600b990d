// regimen/walk/blocks.hpp — the blocks of a Repeat, walked one after the other: the plain loop, and what all walkers of
// blocks share.
#pragma once

#include <regimen/walk/iterations.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::walk {

/// A block as Repeat names it.
template <class Layers, class X, class Context, bool flows, bool chosen>
struct block_of;
template <class... Layers, class X, class Context, bool flows>
struct block_of<mp::mp_list<Layers...>, X, Context, flows, false> {
  using type = Inner<X, Context, flows, Layers...>;
};
template <class... Layers, class X, class Context, bool flows>
struct block_of<mp::mp_list<Layers...>, X, Context, flows, true> {
  using type = ChosenAgain<Inner<X, context_again<Context>, flows, Layers...>>;
};
/// Whether a schedule chooses a block that is no child of a list, but a list.
template <class Block, class Context>
inline constexpr bool is_chosen_list = false;
template <Combinator Block, class Context>
  requires(children<Block>::levels == 0)
inline constexpr bool is_chosen_list<Block, Context> = is_chosen<Block, Context>;
template <class Block, class X, class Context, bool flows>
using BlockOf = block_of<typename listed_layers<Block>::type, X, Context, flows, is_chosen_list<Block, Context>>;

/// What a Repeat repeats.   Body   the walker of a block
template <std::size_t Count, class Block, class X_, class Context_, bool flows_>
struct Repetition {
  using X = X_;
  using Context = Context_;
  static constexpr std::size_t count = Count;
  static constexpr bool flows = flows_;

 private:
  static constexpr bool may_offload = Context::offloads && Count > 2;
  using BlockContext = typename std::conditional_t<may_offload, moved_as_one<Context>, Context>::inner;

 public:
  static constexpr bool trains = BlockOf<Block, X, BlockContext, true>::type::layout.trained > 0;
  // If the block has a backward, every iteration but the first passes a gradient on; one instantiation serves all of them.
  static constexpr bool active = [] {
    if constexpr (flows || trains) return true;
    else return BlockOf<Block, X, BlockContext, false>::type::active;
  }();
  /// Whether blocks are moved to the host's memory: all but the last two.
  static constexpr bool offloads = may_offload && active;
  using Body = typename BlockOf<Block, X, BlockContext, active>::type;
  /// The same under other schedules, with blocks before it.
  template <class Other>
  using under = Repetition<Count, Block, X, Other, true>;
};

/// Blocks that are walked one after the other.
///   first, count    which ones
///   weights, path   of the Repeat
///   after           the unit that is used next
///   gathered        where their units lie, side by side; absent: each is gathered in its turn
///   tickets         of the collectives that gather them
struct BlockRange {
  std::size_t first, count;
  WeightPlaces weights;
  LayerPath path;
  NextUnit after;
  std::size_t gathered = absent;
  const std::size_t* tickets = nullptr;
};

/// Blocks `begin` ... `begin + own - 1` of a Repeat, all under the same schedules.   Of   a Repetition
template <class Of, std::size_t begin, std::size_t own>
struct Blocks : Iterations<Of> {
  using Weights = Iterations<Of>;
  using typename Weights::Body, typename Weights::UnitOfIteration;
  using Weights::holds_units, Weights::iterations, Weights::layout, Weights::resident_of, Weights::unit;
  using X = typename Of::X;
  using Output = X;
  using Walkers = mp::mp_list<Body>;
  using Sharding = typename Of::Context::Sharding;

  static constexpr bool active = Of::active, recomputes_output = false, reads_input = Body::reads_input,
                        reads_output = Body::reads_output, keeps_d_y = Body::keeps_d_y,
                        reads_weights = active && layout.count > 0;
  /// The place of the value between two blocks. A block that is moved has a copy of its input.
  static constexpr Place between =
      (Body::reads_input && !Of::offloads) || Body::reads_output ? Place::saved : Place::transient;

  static constexpr bool is_idle(Place) { return false; }
  static constexpr std::size_t footprint(const auto& walk, Place place) {
    return (own - 1) * Body::footprint(walk, between) + Body::footprint(walk, place);
  }
  static constexpr std::size_t forward(auto& walk, Tensor x, WeightPlaces weights, LayerPath path, Way way) {
    return run(walk, all(walk, weights, path), x, way);
  }
  static constexpr void retire_output(auto& walk, Place place) { Body::retire_output(walk, place); }
  static constexpr std::size_t backward(auto& walk, Tensor d_y, std::size_t x, std::size_t floor, WeightPlaces weights,
                                        LayerPath path, Place place) {
    return passed_on(walk, run_back(walk, all(walk, weights, path), d_y, x, floor, place));
  }
  /// The unit that backward uses first, for prefetching.
  static constexpr NextUnit first_of_backward(const auto& walk, WeightPlaces weights, LayerPath path) {
    return unit(walk, weights, begin + own - 1, path);
  }

  /// All of these blocks.
  [[gnu::always_inline]] static constexpr BlockRange all(const auto& walk, WeightPlaces weights, LayerPath path) {
    return {.first = begin, .count = own, .weights = weights, .path = path, .after = walk.after};
  }
  /// Forward of a range. The output of its last block goes to way.place.
  static constexpr std::size_t run(auto& walk, const BlockRange& range, Tensor x, Way way) {
    const Place inner = way.mode == Mode::save ? between : Place::transient;
    const std::size_t stride = way.mode == Mode::save ? Body::footprint(walk, inner) : 0;
    const auto input = [&](std::size_t i) {
      return i > 0 && inner == Place::saved ? Tensor{just_below<X>(walk, walk.arena.top), false} : x;
    };
    iterate(walk, range.count - 1, stride, unit_bytes(walk), true, [&](std::size_t i) {
      x = {run_block(walk, range, i, input(i), {way.mode, inner}), inner == Place::transient};
    });
    return run_block(walk, range, range.count - 1, input(range.count - 1), way);
  }

 protected:
  using Weights::unit_bytes;

  /// Backward of a range whose saved tensors begin at `floor`.
  static constexpr std::size_t run_back(auto& walk, const BlockRange& range, Tensor d_y, std::size_t x,
                                        std::size_t floor, Place place) {
    const std::size_t stride = Body::footprint(walk, between);
    const auto step = [&](std::size_t i, Place here) {
      const std::size_t bottom = floor + i * stride;
      d_y = {run_block_back(walk, range, i, d_y, i > 0 ? just_below<X>(walk, bottom) : x, bottom, here), true};
    };
    step(range.count - 1, place);
    iterate(walk, range.count - 1, stride, unit_bytes(walk), false, [&](std::size_t i) {
      Body::retire_output(walk, between);
      step(range.count - 2 - i, between);
    });
    return d_y.offset;
  }
  /// The gradient of a Repeat's input, if a layer before it needs it.
  static constexpr std::size_t passed_on(auto& walk, std::size_t d_x) {
    if constexpr (Of::flows) return d_x;
    walk.arena.give(d_x);
    return absent;
  }

  /// Forward of block i of a range.
  static constexpr std::size_t run_block(auto& walk, const BlockRange& range, std::size_t i, Tensor x, Way way) {
    const std::size_t block = range.first + i;
    const LayerPath here = range.path.repeated(block, iterations);
    const NextUnit next = i + 1 < range.count ? unit(walk, range.weights, block + 1, range.path) : range.after;
    const WeightPlaces resident = resident_of(walk, range.weights, block),
                       own_weights = enter(walk, range, i, resident, next);
    const std::size_t y = Body::forward(walk, x, own_weights, here, way);
    leave(walk, range, resident, own_weights, next);
    return y;
  }
  static constexpr std::size_t run_block_back(auto& walk, const BlockRange& range, std::size_t i, Tensor d_y,
                                              std::size_t x, std::size_t floor, Place place) {
    const std::size_t block = range.first + i;
    const LayerPath here = range.path.repeated(block, iterations);
    const NextUnit next = i > 0 ? unit(walk, range.weights, block - 1, range.path) : range.after;
    const WeightPlaces resident = resident_of(walk, range.weights, block);
    WeightPlaces own_weights = enter(walk, range, i, resident, next);
    if constexpr (holds_units) own_weights = open_gradients<UnitOfIteration>(walk, own_weights, here);
    const std::size_t d_x = Body::backward(walk, d_y, x, floor, own_weights, here, place);
    if constexpr (holds_units) reduce<UnitOfIteration>(walk, resident, own_weights, here);
    leave(walk, range, resident, own_weights, next);
    return d_x;
  }

 private:
  static constexpr WeightPlaces enter(auto& walk, const BlockRange& range, std::size_t i, WeightPlaces resident,
                                      const NextUnit& next) {
    if constexpr (holds_units && Sharding::slices_parameters && Sharding::keeps)
      if (range.gathered != absent) {
        walk.await(range.tickets[i]);
        return {range.gathered + i * UnitOfIteration::gathered_bytes(walk.ranks), resident.gradients, resident.add,
                resident.buffers};
      }
    if constexpr (holds_units)
      return gather<UnitOfIteration>(walk, resident, range.path.repeated(range.first + i, iterations), next);
    else return resident;
  }
  static constexpr void leave(auto& walk, const BlockRange& range, WeightPlaces resident, WeightPlaces own_weights,
                              const NextUnit& next) {
    if constexpr (holds_units)
      if (range.gathered == absent) release<UnitOfIteration>(walk, resident, own_weights, next);
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
