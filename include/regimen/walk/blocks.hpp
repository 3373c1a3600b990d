// regimen/walk/blocks.hpp — the blocks of a Repeat, walked one after the other: the plain loop, and what all walkers of
// blocks share.
#pragma once

#include <regimen/walk/sequential.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::walk {

/// A block as Repeat names it.
template <class Block, class X, class Context, bool flows>
struct block_of {
  using type = Inner<X, Context, flows, typename listed_layers<Block>::type>;
};
/// A schedule may choose a block that is no child of a list, but a list.
template <class Block, class X, class Context, bool flows>
  requires Chosen<Block, Context> && (children<Block>::levels == 0)
struct block_of<Block, X, Context, flows> {
  using type = ChosenSecondWalk<Inner<X, context_again<Context>, flows, typename listed_layers<Block>::type>>;
};

/// What a Repeat repeats.   Body   the walker of a block
template <std::size_t Count, class Block, class X_, class Context_, bool flows_>
struct Repetition {
  using X = X_;
  using Context = Context_;
  static constexpr std::size_t count = Count;
  static constexpr bool flows = flows_;

 private:
  static constexpr bool may_offload = Context::offloads && Count > 2;
  using BlockContext = typename std::conditional_t<may_offload, not_moved<Context>, Context>::inner;

 public:
  static constexpr bool trains = block_of<Block, X, BlockContext, true>::type::layout.trained > 0;
  // If the block has a backward, every iteration except the first passes a gradient on; one instantiation serves all.
  static constexpr bool active = [] {
    if constexpr (flows || trains) return true;
    else return block_of<Block, X, BlockContext, false>::type::active;
  }();
  /// Whether blocks are moved to the host's memory: all but the last two.
  static constexpr bool offloads = may_offload && active;
  using Body = typename block_of<Block, X, BlockContext, active>::type;
  /// This Repetition in another context, with other schedules, behind blocks that train.
  template <class Other>
  using under = Repetition<Count, Block, X, Other, true>;
};

/// Runs body(0) ... body(count - 1); each moves the saved stack by `stride`. A plan skips iterations once one begins
/// with the same transient side as one or two iterations before: from there all repeats, and the peak lies in the
/// period where the stack is highest, which is evaluated. `unit` is the distance between the units of two iterations.
constexpr void iterate(auto& walk, std::size_t count, std::size_t stride, std::size_t unit, bool growing, auto&& body) {
  if (!walk.engine.may_skip()) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  auto one_before = walk.mark(), two_before = one_before;
  bool skipped = false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t period = i >= 1 && walk.repeats(one_before) ? 1 : i >= 2 && walk.repeats(two_before) ? 2 : 0;
    if (!skipped && period > 0 && count - i > period) {
      const std::size_t periods = (count - i - period) / period;  // leaves one whole period to run at the end
      walk.skip(periods, period * stride, growing, period == 1 ? one_before : two_before);
      i += periods * period;
      if (walk.ahead.unit != absent)
        walk.ahead.unit =
            growing ? walk.ahead.unit + periods * period * unit : walk.ahead.unit - periods * period * unit;
      skipped = true;
    }
    if (!skipped) {
      two_before = one_before;
      one_before = walk.mark();
    }
    body(i);
  }
}

/// The weights of a Repeat.   Of   a Repetition
template <class Of>
struct Iterations {
  using Body = typename Of::Body;
  using Context = typename Of::Context;
  using UnitOfIteration = Unit<Body, Context>;
  static constexpr std::size_t iterations = Of::count;

  static constexpr bool holds_units = Context::units && Body::layout.count > 0;
  static constexpr ParameterLayout body_layout = [] {  // one iteration, padded so that the next begins aligned
    ParameterLayout one = Body::layout;
    if (!holds_units) one.value_bytes = ParameterLayout::align(one.value_bytes, one.value_alignment);
    return one;
  }();
  static constexpr ParameterLayout layout{.value_bytes = body_layout.value_bytes * iterations,
                                          .value_alignment = body_layout.value_alignment,
                                          .count = body_layout.count * iterations,
                                          .trained = body_layout.trained * iterations,
                                          .tensors = body_layout.tensors * iterations,
                                          .all_master = body_layout.all_master,
                                          .gaps = body_layout.gaps * iterations,
                                          .trained_gaps = body_layout.trained_gaps * iterations,
                                          .gap_bytes = body_layout.gap_bytes * iterations,
                                          .buffer_bytes = body_layout.buffer_bytes * iterations};

  /// The unit of iteration i, for prefetching.
  static constexpr NextUnit unit(const auto& walk, const WeightPlaces& weights, std::size_t i, const LayerPath& path) {
    if constexpr (holds_units)
      return unit_at<UnitOfIteration>(walk, resident_of(walk, weights, i).values, path.repeated(i, iterations));
    else return {};
  }
  /// Where the parameters and gradients of iteration i are kept.
  static constexpr WeightPlaces resident_of(const auto& walk, const WeightPlaces& weights, std::size_t i) {
    using Reduce = typename Context::Roles::reduce;
    if constexpr (holds_units) {
      const UnitOffsets size = UnitOfIteration::size(walk.ranks);
      return {weights.values + i * size.parameters, weights.gradients + i * size.gradients, weights.add,
              weights.buffers + i * body_layout.buffer_bytes};
    } else {
      return {weights.values + i * body_layout.value_bytes,
              weights.gradients + i * body_layout.trained * sizeof(Reduce), weights.add,
              weights.buffers + i * body_layout.buffer_bytes};
    }
  }

  static constexpr void place_tensors(TensorPlace*& out, const TensorPlace& at) {
    for (std::size_t i = 0; i < iterations; ++i)
      Body::place_tensors(out, {at.values + i * body_layout.value_bytes, at.master + i * body_layout.count,
                                at.gradient + i * body_layout.trained});
  }
  [[gnu::cold]] static constexpr void name_tensors(auto&& prefix, bool, auto& visit) {
    const auto own = name_mark(prefix);
    for (std::size_t i = 0; i < iterations; ++i) {
      extend_name(prefix, i);
      Body::name_tensors(prefix, false, visit);
      cut_name(prefix, own);
    }
  }

 protected:
  static constexpr std::size_t unit_bytes(const auto& walk) {
    if constexpr (holds_units) return UnitOfIteration::size(walk.ranks).parameters;
    else return 0;
  }
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
  static constexpr std::size_t forward(auto& walk, const Tensor& x, const WeightPlaces& weights, const LayerPath& path,
                                       const Way& way) {
    return run(walk, all(walk, weights, path), x, way);
  }
  static constexpr void retire_output(auto& walk, Place place) { Body::retire_output(walk, place); }
  static constexpr std::size_t backward(auto& walk, const Tensor& d_y, std::size_t x, std::size_t floor,
                                        const WeightPlaces& weights, const LayerPath& path, Place place) {
    return passed_on(walk, run_back(walk, all(walk, weights, path), d_y, x, floor, place));
  }
  /// The unit that backward uses first, for prefetching.
  static constexpr NextUnit first_of_backward(const auto& walk, const WeightPlaces& weights, const LayerPath& path) {
    return unit(walk, weights, begin + own - 1, path);
  }

  /// All of these blocks.
  [[gnu::always_inline]] static constexpr BlockRange all(const auto& walk, const WeightPlaces& weights,
                                                         const LayerPath& path) {
    return {.first = begin, .count = own, .weights = weights, .path = path, .after = walk.after};
  }
  /// Forward of a range. The output of its last block goes to way.place.
  static constexpr std::size_t run(auto& walk, const BlockRange& range, Tensor x, const Way& way) {
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
  static constexpr std::size_t run_block(auto& walk, const BlockRange& range, std::size_t i, const Tensor& x,
                                         const Way& way) {
    const std::size_t block = range.first + i;
    const LayerPath here = range.path.repeated(block, iterations);
    const NextUnit next = i + 1 < range.count ? unit(walk, range.weights, block + 1, range.path) : range.after;
    const WeightPlaces resident = resident_of(walk, range.weights, block),
                       own_weights = enter(walk, range, i, resident, next);
    const std::size_t y = Body::forward(walk, x, own_weights, here, way);
    leave(walk, range, resident, own_weights, next);
    return y;
  }
  static constexpr std::size_t run_block_back(auto& walk, const BlockRange& range, std::size_t i, const Tensor& d_y,
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
  static constexpr WeightPlaces enter(auto& walk, const BlockRange& range, std::size_t i, const WeightPlaces& resident,
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
  static constexpr void leave(auto& walk, const BlockRange& range, const WeightPlaces& resident,
                              const WeightPlaces& own_weights, const NextUnit& next) {
    if constexpr (holds_units)
      if (range.gathered == absent) release<UnitOfIteration>(walk, resident, own_weights, next);
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
