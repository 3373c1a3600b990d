// regimen/walk/repeat.hpp — the walker of Repeat: of its segments under Checkpoint<Every<N>>, of its last blocks under
// KeepLast, and of its blocks on their way to the host's memory and back under Checkpoint<Offload>.
#pragma once

#include <regimen/walk/iterations.hpp>

#include <array>
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

/// The same for the last blocks of a Repeat, which have schedules of their own.
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

/// The walker of a block of Repeat.
template <std::size_t Count, class Block, class X, class Context, bool flows>
struct Iterated {
  /// Whether blocks may be moved to the host's memory: all but the last two.
  static constexpr bool may_offload = Context::offloads && Count > 2;
  /// The context of a block's layers.
  using BlockContext = typename std::conditional_t<may_offload, moved_as_one<Context>, Context>::inner;
  static constexpr bool trains = BlockOf<Block, X, BlockContext, true>::type::layout.trained > 0;
  // If the block has a backward, every iteration but the first passes a gradient on; one instantiation serves all of them.
  static constexpr bool active = [] {
    if constexpr (flows || trains) return true;
    else return BlockOf<Block, X, BlockContext, false>::type::active;
  }();
  using Body = typename BlockOf<Block, X, BlockContext, active>::type;
};

/// The blocks of a Repeat from `begin` on: first its own, all under the same schedules, then the Rest, if there is one.
template <std::size_t Count, class Block, class X, class Context, bool flows, std::size_t begin>
struct Blocks : Iterations<Count, typename Iterated<Count, Block, X, Context, flows>::Body, Context> {
  using Walker = Iterated<Count, Block, X, Context, flows>;
  using Body = typename Walker::Body;
  using Walkers = mp::mp_list<Body>;
  using Weighed = Iterations<Count, Body, Context>;
  using typename Weighed::UnitOfIteration;
  using Weighed::holds_units, Weighed::layout, Weighed::resident_of, Weighed::unit;
  using Output = X;
  using Checkpoint = typename Context::Checkpoint;

  static constexpr bool trains = Walker::trains, active = Walker::active, offloads = Walker::may_offload && active;
  // The place of the value between two iterations; between two segments it is always saved. A block that is moved has a
  // copy of its input.
  static constexpr Place between =
      (Body::reads_input && !offloads) || Body::reads_output ? Place::saved : Place::transient;
  static constexpr bool checkpoints = Checkpoint::segment > 0 && active;
  static constexpr std::size_t rest = active ? Checkpoint::whole : 0, own_count = Count - begin - rest;
  using Rest = std::conditional_t<
      (rest > 0),
      Blocks<Count, Block, X, typename context_of_blocks<last_blocks<Context>, rest>::type, true, begin + own_count>,
      Tensor>;
  static constexpr std::size_t segment =
                                   checkpoints && Checkpoint::segment < own_count ? Checkpoint::segment : own_count,
                               segments = (own_count + segment - 1) / segment,
                               last_segment = own_count - (segments - 1) * segment;
  static constexpr bool reads_input = checkpoints || (Body::reads_input && !offloads), recomputes_output = false;
  static constexpr bool reads_output = [] {
    if constexpr (rest > 0) return Rest::reads_output;
    else return !checkpoints && Body::reads_output;
  }();
  static constexpr bool keeps_d_y = [] {  // a segment is recomputed before its gradient is read
    if constexpr (rest > 0) return Rest::keeps_d_y;
    else return checkpoints || Body::keeps_d_y;
  }();
  /// The place of the value between the own blocks and the Rest.
  static constexpr Place seam = [] {
    if constexpr (rest > 0)
      return Rest::reads_input || (!checkpoints && Body::reads_output) ? Place::saved : Place::transient;
    else return Place::nowhere;
  }();
  static constexpr bool reads_weights = active && layout.count > 0;
  /// Whether the units of a segment are gathered together, side by side, when the segment is recomputed.
  static constexpr bool keeps_segments =
      checkpoints && segment > 1 && holds_units&& Context::Sharding::slices_parameters&& Context::Sharding::keeps;

  static constexpr bool is_idle(Place) { return false; }
  static constexpr std::size_t footprint(const auto& walk, Place place) {
    if constexpr (rest > 0) return own_footprint(walk, seam) + Rest::footprint(walk, place);
    else return own_footprint(walk, place);
  }

  static constexpr std::size_t forward(auto& walk, Tensor x, WeightPlaces weights, LayerPath path, Way way) {
    const NextUnit after = walk.after;
    if constexpr (offloads)
      if (way.mode == Mode::save) return run_offloaded(walk, x, weights, path, way, after);
    if (way.mode == Mode::discard) return run(walk, begin, own_count + rest, x, weights, path, way, after);
    if constexpr (rest == 0) return own_forward(walk, x, weights, path, way, after);
    else {
      const std::size_t y =
          own_forward(walk, x, weights, path, {way.mode, seam}, unit(walk, weights, begin + own_count, path));
      walk.after = after;
      return Rest::forward(walk, Tensor{y, seam == Place::transient}, weights, path, way);
    }
  }

  static constexpr void retire_output(auto& walk, Place place) {
    if constexpr (rest > 0) Rest::retire_output(walk, place);
    else own_retire_output(walk, place);
  }
  static constexpr std::size_t backward(auto& walk, Tensor d_y, std::size_t x, std::size_t floor, WeightPlaces weights,
                                        LayerPath path, Place place) {
    const NextUnit after = walk.after;
    if constexpr (rest > 0) {
      const std::size_t bottom = floor + own_footprint(walk, seam);
      walk.after = own_first_of_backward(walk, weights, path);
      d_y = {Rest::backward(walk, d_y, seam == Place::saved ? just_below<X>(walk, bottom) : absent, bottom, weights,
                            path, place),
             true};
      own_retire_output(walk, seam);
      place = seam;
    }
    d_y = {own_backward(walk, d_y, x, floor, weights, path, place, after), true};
    if constexpr (!flows) {
      walk.arena.give(d_y.offset);
      return absent;
    }
    return d_y.offset;
  }

  /// The unit that backward uses first, for prefetching.
  static constexpr NextUnit first_of_backward(const auto& walk, WeightPlaces weights, LayerPath path) {
    if constexpr (rest > 0) return Rest::first_of_backward(walk, weights, path);
    else return own_first_of_backward(walk, weights, path);
  }

 private:
  using Weighed::unit_bytes;

  static constexpr std::size_t own_footprint(const auto& walk, Place place) {
    const std::size_t x = bytes_of<X>(walk);
    if constexpr (offloads) return moved_bytes(walk) + input_bytes(walk) + Body::footprint(walk, place);
    else if constexpr (checkpoints) return (segments - 1) * x + (place == Place::saved ? x : 0);
    else return (own_count - 1) * Body::footprint(walk, between) + Body::footprint(walk, place);
  }
  static constexpr std::size_t own_forward(auto& walk, Tensor x, WeightPlaces weights, LayerPath path, Way way,
                                           const NextUnit& after) {
    if constexpr (!checkpoints) return run(walk, begin, own_count, x, weights, path, way, after);
    iterate(walk, segments - 1, bytes_of<X>(walk), segment * unit_bytes(walk), true, [&](std::size_t s) {
      run(walk, begin + s * segment, segment, segment_input(walk, s, x.offset), weights, path,
          {Mode::discard, Place::saved}, unit(walk, weights, begin + (s + 1) * segment, path));
    });
    std::size_t y = absent;
    if (way.place != Place::nowhere)
      y = run(walk, begin + own_count - last_segment, last_segment, segment_input(walk, segments - 1, x.offset),
              weights, path, {Mode::discard, way.place}, after);
    if (x.owned) walk.arena.give(x.offset);  // it is computed again before it is read
    return y;
  }
  static constexpr void own_retire_output(auto& walk, Place place) {
    if constexpr (!checkpoints) Body::retire_output(walk, place);
    else if (place == Place::saved) pop<X>(walk);
  }
  static constexpr std::size_t own_backward(auto& walk, Tensor d_y, std::size_t x, std::size_t floor,
                                            WeightPlaces weights, LayerPath path, Place place, const NextUnit& after) {
    if constexpr (offloads) return backward_offloaded(walk, d_y, floor, weights, path, place, after);
    else if constexpr (!checkpoints)
      return backward_blocks(walk, begin, own_count, d_y, x, floor, weights, path, place, after);
    else {
      const auto redo = [&](std::size_t s, std::size_t count) {
        return Tensor{recompute_segment(walk, begin + s * segment, count, d_y, segment_input(walk, s, x), weights, path,
                                        s > 0 ? unit(walk, weights, begin + (s - 1) * segment, path) : after),
                      true};
      };
      d_y = redo(segments - 1, last_segment);
      iterate(walk, segments - 1, bytes_of<X>(walk), segment * unit_bytes(walk), false, [&](std::size_t i) {
        pop<X>(walk);  // the input of the segment whose backward just ended
        d_y = redo(segments - 2 - i, segment);
      });
      return d_y.offset;
    }
  }
  static constexpr NextUnit own_first_of_backward(const auto& walk, WeightPlaces weights, LayerPath path) {
    if constexpr (keeps_segments) return {};  // it is gathered with its segment
    else return unit(walk, weights, begin + own_count - (checkpoints ? last_segment : 1), path);
  }
  static constexpr Tensor segment_input(const auto& walk, std::size_t s, std::size_t x) {
    return {s == 0 ? x : just_below<X>(walk, walk.arena.top), false};
  }
  /// The units of a segment, gathered side by side, from its recomputation to the end of its backward.
  struct Kept {
    std::size_t first = 0, values = absent;
    std::array<std::size_t, keeps_segments ? segment : 1> tickets{};
  };
  static constexpr Kept gather_segment(auto& walk, std::size_t first, std::size_t count, WeightPlaces weights,
                                       LayerPath path) {
    Kept kept{first};
    if constexpr (keeps_segments) {
      if (walk.ranks == 1) return kept;
      const std::size_t bytes = UnitOfIteration::gathered_bytes(walk.ranks);
      kept.values = walk.arena.push(count * bytes, MemoryKind::communication, path.repeated(first, Count));
      walk.repeat(count, [&](std::size_t i) {
        kept.tickets[i] = walk.all_gather({.own = resident_of(walk, weights, first + i).values,
                                           .all = kept.values + i * bytes,
                                           .bytes = UnitOfIteration::values_slice_bytes(walk.ranks),
                                           .teams = Context::Sharding::shard_group,
                                           .path = path.repeated(first + i, Count)});
      });
    }
    return kept;
  }

  static constexpr WeightPlaces enter(auto& walk, std::size_t i, WeightPlaces resident, LayerPath path,
                                      const NextUnit& next, const Kept& kept) {
    if constexpr (keeps_segments)
      if (kept.values != absent) {
        walk.await(kept.tickets[i - kept.first]);
        return {kept.values + (i - kept.first) * UnitOfIteration::gathered_bytes(walk.ranks), resident.gradients,
                resident.add, resident.buffers};
      }
    if constexpr (holds_units) return gather<UnitOfIteration>(walk, resident, path, next);
    else return resident;
  }
  static constexpr void leave(auto& walk, WeightPlaces resident, WeightPlaces own, const NextUnit& next,
                              const Kept& kept) {
    if constexpr (holds_units)
      if (kept.values == absent) release<UnitOfIteration>(walk, resident, own, next);
  }

  static constexpr std::size_t step_forward(auto& walk, std::size_t i, Tensor x, WeightPlaces weights, LayerPath path,
                                            Way way, const NextUnit& next, const Kept& kept) {
    const WeightPlaces resident = resident_of(walk, weights, i),
                       own = enter(walk, i, resident, path.repeated(i, Count), next, kept);
    const std::size_t y = Body::forward(walk, x, own, path.repeated(i, Count), way);
    leave(walk, resident, own, next, kept);
    return y;
  }

  static constexpr std::size_t step_backward(auto& walk, std::size_t i, Tensor d_y, std::size_t x, std::size_t floor,
                                             WeightPlaces weights, LayerPath path, Place place, const NextUnit& next,
                                             const Kept& kept) {
    const LayerPath here = path.repeated(i, Count);
    const WeightPlaces resident = resident_of(walk, weights, i);
    WeightPlaces own = enter(walk, i, resident, here, next, kept);
    if constexpr (holds_units) own = open_gradients<UnitOfIteration>(walk, own, here);
    const std::size_t d_x = Body::backward(walk, d_y, x, floor, own, here, place);
    if constexpr (holds_units) reduce<UnitOfIteration>(walk, resident, own, here);
    leave(walk, resident, own, next, kept);
    return d_x;
  }

  /// Forward of iterations first ... first + count - 1; the last output goes to `place`. `after`
  /// is the unit that is used next.
  static constexpr std::size_t run(auto& walk, std::size_t first, std::size_t count, Tensor x, WeightPlaces weights,
                                   LayerPath path, Way way, const NextUnit& after, const Kept& kept = {}) {
    const Place inner = way.mode == Mode::save ? between : Place::transient;
    const std::size_t stride = way.mode == Mode::save ? Body::footprint(walk, inner) : 0;
    const auto input = [&](std::size_t i) {
      return i > 0 && inner == Place::saved ? Tensor{just_below<X>(walk, walk.arena.top), false} : x;
    };
    iterate(walk, count - 1, stride, unit_bytes(walk), true, [&](std::size_t i) {
      x = {step_forward(walk, first + i, input(i), weights, path, {way.mode, inner},
                        unit(walk, weights, first + i + 1, path), kept),
           inner == Place::transient};
    });
    return step_forward(walk, first + count - 1, input(count - 1), weights, path, way, after, kept);
  }

  /// Backward of the same iterations; their saved tensors begin at `floor`.
  static constexpr std::size_t backward_blocks(auto& walk, std::size_t first, std::size_t count, Tensor d_y,
                                               std::size_t x, std::size_t floor, WeightPlaces weights, LayerPath path,
                                               Place place, const NextUnit& after, const Kept& kept = {}) {
    const std::size_t stride = Body::footprint(walk, between);
    const auto step = [&](std::size_t i, Place here) {
      const std::size_t bottom = floor + i * stride;
      const std::size_t input = i > 0 ? just_below<X>(walk, bottom) : x;
      return step_backward(walk, first + i, d_y, input, bottom, weights, path, here,
                           i > 0 ? unit(walk, weights, first + i - 1, path) : after, kept);
    };
    d_y = {step(count - 1, place), true};
    iterate(walk, count - 1, stride, unit_bytes(walk), false, [&](std::size_t i) {
      Body::retire_output(walk, between);
      d_y = {step(count - 2 - i, between), true};
    });
    return d_y.offset;
  }

  // ---- blocks that move
  //
  // A block computes on top of the saved stack, where its backward reads what it has saved: a copy of its input first,
  // then the tensors that its layers push. Below lies one place of the same bytes, from which the block before is copied
  // to the host meanwhile, and to which in backward the block after next is copied back. The last block stays on top,
  // the last but one below.

  static constexpr std::size_t input_bytes(const auto& walk) { return Body::reads_input ? bytes_of<X>(walk) : 0; }
  /// What a block has saved.
  static constexpr std::size_t moved_bytes(const auto& walk) {
    return input_bytes(walk) + Body::footprint(walk, between);
  }
  static constexpr void copy(auto& walk, std::size_t from, std::size_t to, std::size_t bytes, const LayerPath& path) {
    walk.path = path;
    walk.run(op::Cast<fp32, fp32>{{from}, {to}, bytes / sizeof(fp32)});
  }
  /// Forward of one iteration, on top of the stack.
  static constexpr std::size_t step_moving(auto& walk, std::size_t i, Tensor x, WeightPlaces weights, LayerPath path,
                                           Way way, const NextUnit& next) {
    if constexpr (Body::reads_input) {
      const LayerPath here = path.repeated(i, Count);
      const std::size_t kept = walk.arena.push(bytes_of<X>(walk), MemoryKind::saved, here);
      copy(walk, x.offset, kept, bytes_of<X>(walk), here);
      if (x.owned) walk.arena.give(x.offset);
      x = {kept, false};
    }
    return step_forward(walk, i, x, weights, path, way, next, {});
  }
  static constexpr std::size_t run_offloaded(auto& walk, Tensor x, WeightPlaces weights, LayerPath path, Way way,
                                             const NextUnit& after) {
    const std::size_t bytes = moved_bytes(walk), host = walk.host.push((Count - 2) * bytes),
                      below = walk.arena.push(bytes, MemoryKind::saved, path.repeated(0, Count)), top = walk.arena.top;
    std::size_t ticket = no_ticket;
    iterate(walk, Count - 1, 0, unit_bytes(walk), true, [&](std::size_t i) {
      const std::size_t y =
          step_moving(walk, i, x, weights, path, {way.mode, between}, unit(walk, weights, i + 1, path));
      if (i > 0) walk.await_copy(ticket);
      copy(walk, top, below, bytes, path.repeated(i, Count));
      if (i + 2 < Count) ticket = walk.offload({below, host + i * bytes, bytes, path.repeated(i, Count)});
      walk.arena.pop_to(top);
      x = between == Place::saved ? Tensor{just_below<X>(walk, top), false} : Tensor{y, true};
    });
    return step_moving(walk, Count - 1, x, weights, path, way, after);
  }
  static constexpr std::size_t backward_offloaded(auto& walk, Tensor d_y, std::size_t below, WeightPlaces weights,
                                                  LayerPath path, Place place, const NextUnit& after) {
    const std::size_t bytes = moved_bytes(walk), host = walk.host.pop((Count - 2) * bytes), top = below + bytes;
    const auto step = [&](std::size_t i, Place here) {
      d_y = {step_backward(walk, i, d_y, Body::reads_input ? top : absent, top + input_bytes(walk), weights, path, here,
                           i > 0 ? unit(walk, weights, i - 1, path) : after, {}),
             true};
      walk.arena.pop_to(top);
    };
    step(Count - 1, place);
    std::size_t ticket = no_ticket;
    iterate(walk, Count - 1, 0, unit_bytes(walk), false, [&](std::size_t back) {
      const std::size_t i = Count - 2 - back;
      const LayerPath here = path.repeated(i, Count);
      if (back > 0) walk.await_copy(ticket);
      walk.arena.push(bytes, MemoryKind::saved, here);
      copy(walk, below, top, bytes, here);
      if (i > 0) ticket = walk.fetch({below, host + (i - 1) * bytes, bytes, path.repeated(i - 1, Count)});
      Body::retire_output(walk, between);
      step(i, between);
    });
    walk.arena.pop_to(below);
    return d_y.offset;
  }

  /// Backward of a segment, whose first block is `first`.
  static constexpr std::size_t recompute_segment(auto& walk, std::size_t first, std::size_t count, Tensor d_y,
                                                 Tensor input, WeightPlaces weights, LayerPath path,
                                                 const NextUnit& after) {
    constexpr Place place =
        Body::reads_output ? Place::saved : Place::nowhere;  // only tensors before the output are needed
    const std::size_t bottom = walk.arena.top;
    const Kept kept = gather_segment(walk, first, count, weights, path);
    const std::size_t floor = walk.arena.top;
    // The unit of the last block stays gathered: its backward follows at once.
    run(walk, first, count, input, weights, path, {Mode::save, place}, unit(walk, weights, first + count - 1, path),
        kept);
    const std::size_t d_x =
        backward_blocks(walk, first, count, d_y, input.offset, floor, weights, path, place, after, kept);
    if constexpr (keeps_segments) walk.arena.pop_to(bottom);
    return d_x;
  }
};

template <std::size_t Count, class Block, class X, class Context, bool flows>
struct Node<Repeat<Count, Block>, X, Context, flows>
    : Blocks<Count, Block, X, typename context_of_blocks<Context, Count>::type, flows, 0> {
  static constexpr std::size_t iterations = Count;
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
