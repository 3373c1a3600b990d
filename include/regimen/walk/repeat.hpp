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
  static constexpr std::size_t footprint(const auto& engine, Place place) {
    if constexpr (rest > 0) return own_footprint(engine, seam) + Rest::footprint(engine, place);
    else return own_footprint(engine, place);
  }

  static constexpr std::size_t forward(auto& engine, Tensor x, WeightPlaces weights, LayerPath path, Way way) {
    const NextUnit after = engine.after;
    if constexpr (offloads)
      if (way.mode == Mode::save) return run_offloaded(engine, x, weights, path, way, after);
    if (way.mode == Mode::discard) return run(engine, begin, own_count + rest, x, weights, path, way, after);
    if constexpr (rest == 0) return own_forward(engine, x, weights, path, way, after);
    else {
      const std::size_t y =
          own_forward(engine, x, weights, path, {way.mode, seam}, unit(engine, weights, begin + own_count, path));
      engine.after = after;
      return Rest::forward(engine, Tensor{y, seam == Place::transient}, weights, path, way);
    }
  }

  static constexpr void retire_output(auto& engine, Place place) {
    if constexpr (rest > 0) Rest::retire_output(engine, place);
    else own_retire_output(engine, place);
  }
  static constexpr std::size_t backward(auto& engine, Tensor d_y, std::size_t x, std::size_t floor,
                                        WeightPlaces weights, LayerPath path, Place place) {
    const NextUnit after = engine.after;
    if constexpr (rest > 0) {
      const std::size_t bottom = floor + own_footprint(engine, seam);
      engine.after = own_first_of_backward(engine, weights, path);
      d_y = {Rest::backward(engine, d_y, seam == Place::saved ? just_below<X>(engine, bottom) : absent, bottom, weights,
                            path, place),
             true};
      own_retire_output(engine, seam);
      place = seam;
    }
    d_y = {own_backward(engine, d_y, x, floor, weights, path, place, after), true};
    if constexpr (!flows) {
      engine.arena.give(d_y.offset);
      return absent;
    }
    return d_y.offset;
  }

  /// The unit that backward uses first, for prefetching.
  static constexpr NextUnit first_of_backward(const auto& engine, WeightPlaces weights, LayerPath path) {
    if constexpr (rest > 0) return Rest::first_of_backward(engine, weights, path);
    else return own_first_of_backward(engine, weights, path);
  }

 private:
  using Weighed::unit_bytes;

  static constexpr std::size_t own_footprint(const auto& engine, Place place) {
    const std::size_t x = bytes_of<X>(engine);
    if constexpr (offloads) return moved_bytes(engine) + input_bytes(engine) + Body::footprint(engine, place);
    else if constexpr (checkpoints) return (segments - 1) * x + (place == Place::saved ? x : 0);
    else return (own_count - 1) * Body::footprint(engine, between) + Body::footprint(engine, place);
  }
  static constexpr std::size_t own_forward(auto& engine, Tensor x, WeightPlaces weights, LayerPath path, Way way,
                                           const NextUnit& after) {
    if constexpr (!checkpoints) return run(engine, begin, own_count, x, weights, path, way, after);
    iterate(engine, segments - 1, bytes_of<X>(engine), segment * unit_bytes(engine), true, [&](std::size_t s) {
      run(engine, begin + s * segment, segment, segment_input(engine, s, x.offset), weights, path,
          {Mode::discard, Place::saved}, unit(engine, weights, begin + (s + 1) * segment, path));
    });
    std::size_t y = absent;
    if (way.place != Place::nowhere)
      y = run(engine, begin + own_count - last_segment, last_segment, segment_input(engine, segments - 1, x.offset),
              weights, path, {Mode::discard, way.place}, after);
    if (x.owned) engine.arena.give(x.offset);  // it is computed again before it is read
    return y;
  }
  static constexpr void own_retire_output(auto& engine, Place place) {
    if constexpr (!checkpoints) Body::retire_output(engine, place);
    else if (place == Place::saved) pop<X>(engine);
  }
  static constexpr std::size_t own_backward(auto& engine, Tensor d_y, std::size_t x, std::size_t floor,
                                            WeightPlaces weights, LayerPath path, Place place, const NextUnit& after) {
    if constexpr (offloads) return backward_offloaded(engine, d_y, floor, weights, path, place, after);
    else if constexpr (!checkpoints)
      return backward_blocks(engine, begin, own_count, d_y, x, floor, weights, path, place, after);
    else {
      const auto redo = [&](std::size_t s, std::size_t count) {
        return Tensor{recompute_segment(engine, begin + s * segment, count, d_y, segment_input(engine, s, x), weights,
                                        path, s > 0 ? unit(engine, weights, begin + (s - 1) * segment, path) : after),
                      true};
      };
      d_y = redo(segments - 1, last_segment);
      iterate(engine, segments - 1, bytes_of<X>(engine), segment * unit_bytes(engine), false, [&](std::size_t i) {
        pop<X>(engine);  // the input of the segment whose backward just ended
        d_y = redo(segments - 2 - i, segment);
      });
      return d_y.offset;
    }
  }
  static constexpr NextUnit own_first_of_backward(const auto& engine, WeightPlaces weights, LayerPath path) {
    if constexpr (keeps_segments) return {};  // it is gathered with its segment
    else return unit(engine, weights, begin + own_count - (checkpoints ? last_segment : 1), path);
  }
  static constexpr Tensor segment_input(const auto& engine, std::size_t s, std::size_t x) {
    return {s == 0 ? x : just_below<X>(engine, engine.arena.top), false};
  }
  /// The units of a segment, gathered side by side, from its recomputation to the end of its backward.
  struct Kept {
    std::size_t first = 0, values = absent;
    std::array<std::size_t, keeps_segments ? segment : 1> tickets{};
  };
  static constexpr Kept gather_segment(auto& engine, std::size_t first, std::size_t count, WeightPlaces weights,
                                       LayerPath path) {
    Kept kept{first};
    if constexpr (keeps_segments) {
      if (engine.ranks == 1) return kept;
      const std::size_t bytes = UnitOfIteration::gathered_bytes(engine.ranks);
      kept.values = engine.arena.push(count * bytes, MemoryKind::communication, path.repeated(first, Count));
      engine.repeat(count, [&](std::size_t i) {
        kept.tickets[i] = engine.all_gather({.own = resident_of(engine, weights, first + i).values,
                                             .all = kept.values + i * bytes,
                                             .bytes = UnitOfIteration::values_slice_bytes(engine.ranks),
                                             .teams = Context::Sharding::shard_group,
                                             .path = path.repeated(first + i, Count)});
      });
    }
    return kept;
  }

  static constexpr WeightPlaces enter(auto& engine, std::size_t i, WeightPlaces resident, LayerPath path,
                                      const NextUnit& next, const Kept& kept) {
    if constexpr (keeps_segments)
      if (kept.values != absent) {
        engine.await(kept.tickets[i - kept.first]);
        return {kept.values + (i - kept.first) * UnitOfIteration::gathered_bytes(engine.ranks), resident.gradients,
                resident.add, resident.buffers};
      }
    if constexpr (holds_units) return gather<UnitOfIteration>(engine, resident, path, next);
    else return resident;
  }
  static constexpr void leave(auto& engine, WeightPlaces resident, WeightPlaces own, const NextUnit& next,
                              const Kept& kept) {
    if constexpr (holds_units)
      if (kept.values == absent) release<UnitOfIteration>(engine, resident, own, next);
  }

  static constexpr std::size_t step_forward(auto& engine, std::size_t i, Tensor x, WeightPlaces weights, LayerPath path,
                                            Way way, const NextUnit& next, const Kept& kept) {
    const WeightPlaces resident = resident_of(engine, weights, i),
                       own = enter(engine, i, resident, path.repeated(i, Count), next, kept);
    const std::size_t y = Body::forward(engine, x, own, path.repeated(i, Count), way);
    leave(engine, resident, own, next, kept);
    return y;
  }

  static constexpr std::size_t step_backward(auto& engine, std::size_t i, Tensor d_y, std::size_t x, std::size_t floor,
                                             WeightPlaces weights, LayerPath path, Place place, const NextUnit& next,
                                             const Kept& kept) {
    const LayerPath here = path.repeated(i, Count);
    const WeightPlaces resident = resident_of(engine, weights, i);
    WeightPlaces own = enter(engine, i, resident, here, next, kept);
    if constexpr (holds_units) own = open_gradients<UnitOfIteration>(engine, own, here);
    const std::size_t d_x = Body::backward(engine, d_y, x, floor, own, here, place);
    if constexpr (holds_units) reduce<UnitOfIteration>(engine, resident, own, here);
    leave(engine, resident, own, next, kept);
    return d_x;
  }

  /// Forward of iterations first ... first + count - 1; the last output goes to `place`. `after`
  /// is the unit that is used next.
  static constexpr std::size_t run(auto& engine, std::size_t first, std::size_t count, Tensor x, WeightPlaces weights,
                                   LayerPath path, Way way, const NextUnit& after, const Kept& kept = {}) {
    const Place inner = way.mode == Mode::save ? between : Place::transient;
    const std::size_t stride = way.mode == Mode::save ? Body::footprint(engine, inner) : 0;
    const auto input = [&](std::size_t i) {
      return i > 0 && inner == Place::saved ? Tensor{just_below<X>(engine, engine.arena.top), false} : x;
    };
    iterate(engine, count - 1, stride, unit_bytes(engine), true, [&](std::size_t i) {
      x = {step_forward(engine, first + i, input(i), weights, path, {way.mode, inner},
                        unit(engine, weights, first + i + 1, path), kept),
           inner == Place::transient};
    });
    return step_forward(engine, first + count - 1, input(count - 1), weights, path, way, after, kept);
  }

  /// Backward of the same iterations; their saved tensors begin at `floor`.
  static constexpr std::size_t backward_blocks(auto& engine, std::size_t first, std::size_t count, Tensor d_y,
                                               std::size_t x, std::size_t floor, WeightPlaces weights, LayerPath path,
                                               Place place, const NextUnit& after, const Kept& kept = {}) {
    const std::size_t stride = Body::footprint(engine, between);
    const auto step = [&](std::size_t i, Place here) {
      const std::size_t bottom = floor + i * stride;
      const std::size_t input = i > 0 ? just_below<X>(engine, bottom) : x;
      return step_backward(engine, first + i, d_y, input, bottom, weights, path, here,
                           i > 0 ? unit(engine, weights, first + i - 1, path) : after, kept);
    };
    d_y = {step(count - 1, place), true};
    iterate(engine, count - 1, stride, unit_bytes(engine), false, [&](std::size_t i) {
      Body::retire_output(engine, between);
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

  static constexpr std::size_t input_bytes(const auto& engine) { return Body::reads_input ? bytes_of<X>(engine) : 0; }
  /// What a block has saved.
  static constexpr std::size_t moved_bytes(const auto& engine) {
    return input_bytes(engine) + Body::footprint(engine, between);
  }
  static constexpr void copy(auto& engine, std::size_t from, std::size_t to, std::size_t bytes, const LayerPath& path) {
    engine.path = path;
    engine.run(op::Cast<fp32, fp32>{{from}, {to}, bytes / sizeof(fp32)});
  }
  /// Forward of one iteration, on top of the stack.
  static constexpr std::size_t step_moving(auto& engine, std::size_t i, Tensor x, WeightPlaces weights, LayerPath path,
                                           Way way, const NextUnit& next) {
    if constexpr (Body::reads_input) {
      const LayerPath here = path.repeated(i, Count);
      const std::size_t kept = engine.arena.push(bytes_of<X>(engine), MemoryKind::saved, here);
      copy(engine, x.offset, kept, bytes_of<X>(engine), here);
      if (x.owned) engine.arena.give(x.offset);
      x = {kept, false};
    }
    return step_forward(engine, i, x, weights, path, way, next, {});
  }
  static constexpr std::size_t run_offloaded(auto& engine, Tensor x, WeightPlaces weights, LayerPath path, Way way,
                                             const NextUnit& after) {
    const std::size_t bytes = moved_bytes(engine), host = engine.host.push((Count - 2) * bytes),
                      below = engine.arena.push(bytes, MemoryKind::saved, path.repeated(0, Count)),
                      top = engine.arena.top;
    std::size_t ticket = no_ticket;
    iterate(engine, Count - 1, 0, unit_bytes(engine), true, [&](std::size_t i) {
      const std::size_t y =
          step_moving(engine, i, x, weights, path, {way.mode, between}, unit(engine, weights, i + 1, path));
      if (i > 0) engine.await_copy(ticket);
      copy(engine, top, below, bytes, path.repeated(i, Count));
      if (i + 2 < Count) ticket = engine.offload({below, host + i * bytes, bytes, path.repeated(i, Count)});
      engine.arena.pop_to(top);
      x = between == Place::saved ? Tensor{just_below<X>(engine, top), false} : Tensor{y, true};
    });
    return step_moving(engine, Count - 1, x, weights, path, way, after);
  }
  static constexpr std::size_t backward_offloaded(auto& engine, Tensor d_y, std::size_t below, WeightPlaces weights,
                                                  LayerPath path, Place place, const NextUnit& after) {
    const std::size_t bytes = moved_bytes(engine), host = engine.host.pop((Count - 2) * bytes), top = below + bytes;
    const auto step = [&](std::size_t i, Place here) {
      d_y = {step_backward(engine, i, d_y, Body::reads_input ? top : absent, top + input_bytes(engine), weights, path,
                           here, i > 0 ? unit(engine, weights, i - 1, path) : after, {}),
             true};
      engine.arena.pop_to(top);
    };
    step(Count - 1, place);
    std::size_t ticket = no_ticket;
    iterate(engine, Count - 1, 0, unit_bytes(engine), false, [&](std::size_t back) {
      const std::size_t i = Count - 2 - back;
      const LayerPath here = path.repeated(i, Count);
      if (back > 0) engine.await_copy(ticket);
      engine.arena.push(bytes, MemoryKind::saved, here);
      copy(engine, below, top, bytes, here);
      if (i > 0) ticket = engine.fetch({below, host + (i - 1) * bytes, bytes, path.repeated(i - 1, Count)});
      Body::retire_output(engine, between);
      step(i, between);
    });
    engine.arena.pop_to(below);
    return d_y.offset;
  }

  /// Backward of a segment, whose first block is `first`.
  static constexpr std::size_t recompute_segment(auto& engine, std::size_t first, std::size_t count, Tensor d_y,
                                                 Tensor input, WeightPlaces weights, LayerPath path,
                                                 const NextUnit& after) {
    constexpr Place place =
        Body::reads_output ? Place::saved : Place::nowhere;  // only tensors before the output are needed
    const std::size_t bottom = engine.arena.top;
    const Kept kept = gather_segment(engine, first, count, weights, path);
    const std::size_t floor = engine.arena.top;
    // The unit of the last block stays gathered: its backward follows at once.
    run(engine, first, count, input, weights, path, {Mode::save, place}, unit(engine, weights, first + count - 1, path),
        kept);
    const std::size_t d_x =
        backward_blocks(engine, first, count, d_y, input.offset, floor, weights, path, place, after, kept);
    if constexpr (keeps_segments) engine.arena.pop_to(bottom);
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
