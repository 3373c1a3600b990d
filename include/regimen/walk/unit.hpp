// regimen/walk/unit.hpp — the unit of sharding: parameters that are gathered, used, and reduced together.
#pragma once

#include <regimen/core/path.hpp>
#include <regimen/walk/node.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

namespace regimen::walk {

/// Bytes into the three persistent regions: parameters (what kernels read, then master weights), gradients, state.
struct UnitOffsets {
  std::size_t parameters = 0, gradients = 0, states = 0;

  constexpr UnitOffsets operator+(const UnitOffsets& other) const {
    return {parameters + other.parameters, gradients + other.gradients, states + other.states};
  }
  constexpr UnitOffsets operator*(std::size_t count) const {
    return {parameters * count, gradients * count, states * count};
  }
};

/// A unit (below) in numbers, whatever its type, on so many ranks. Lengths count gaps, too.
struct UnitRecord final {
  UnitOffsets first{}, size{};  // of the first iteration; of each
  std::size_t count = 0;        // iterations
  LayerPath path{};
  std::span<const TensorPlace> tensors{};
  std::size_t elements = 0, trained = 0;         // of all parameters; of those that train
  std::size_t slice = 0, gradient_slice = 0;     // elements of the slices that a rank keeps
  std::size_t kept_state = 0;                    // elements of each array of state that a rank keeps
  std::size_t gradient_part = 0;                 // elements of the gradient that one rank adds up
  std::size_t whole_gradient_bytes = 0;          // of the parts of all ranks
  std::size_t values_slice_bytes = 0;            // of a rank's slice of what kernels read
  std::size_t master_offset = 0;                 // bytes from the parameters to the master weights
  std::size_t gap_bytes = 0;                     // in all buffers, before ranks share them
  bool shares_master = true, is_uniform = true;  // as Unit has them

  constexpr LayerPath path_of(std::size_t iteration) const {
    return count > 1 ? path.repeated(iteration, count) : path;
  }
};

/// A child of the model, an iteration of a Repeat, a tied table, or the layers of a Shared: one flat buffer each of
/// parameters, gradients and optimizer state. If all kernels read the master weights, these are the parameters;
/// otherwise a copy in the compute types lies before them.
///
/// With several ranks a buffer is padded to as many equal parts as there are ranks, each of whole aligned lines.
/// Sharding says which buffers a rank keeps whole, and of which it keeps its slice; kernels read the gathered buffer.
template <class N, class Context>
struct Unit final {
  using Node = N;
  using Master = typename Context::Roles::master;
  using Reduce = typename Context::Roles::reduce;
  using Sharding = typename Context::Sharding;
  static constexpr ParameterLayout layout = N::layout;
  static constexpr std::size_t states = Context::states;
  static constexpr bool shares_master = layout.all_master;

  static constexpr std::array<TensorPlace, layout.tensors> tensors = [] {
    std::array<TensorPlace, layout.tensors> places{};
    TensorPlace* out = places.data();
    N::place_tensors(out, TensorPlace{});
    return places;
  }();

  /// Whether the unit has one element type, and trains entirely or not at all: so every
  /// buffer has slices of equal bytes.
  static constexpr bool is_uniform = [] {
    for (const TensorPlace& tensor : tensors)
      if (tensor.element != tensors[0].element || tensor.trains != tensors[0].trains) return false;
    return true;
  }();
  static constexpr std::size_t value_size = [] {  // bytes of a parameter that kernels read, in a uniform unit
    if constexpr (layout.tensors > 0) return bytes_of(tensors[0].element);
    else return std::size_t{1};
  }();

  /// Elements of a part of a buffer of `count` elements, for this many ranks.
  static constexpr std::size_t cut(std::size_t count, std::size_t ranks) {
    constexpr std::size_t smallest = [] {
      std::size_t size = sizeof(Reduce) < value_size ? sizeof(Reduce) : value_size;
      return size < sizeof(Master) ? size : sizeof(Master);
    }();
    constexpr std::size_t line = TensorArena::alignment / smallest;
    const std::size_t share = (count + ranks - 1) / ranks;
    return ranks == 1 ? count : (share + line - 1) / line * line;
  }
  [[gnu::always_inline]] static constexpr std::size_t gradient_part(std::size_t ranks) {
    return cut(layout.trained, ranks);
  }  // elements
  [[gnu::always_inline]] static constexpr std::size_t slice(std::size_t ranks) {
    return cut(layout.count, ranks) * Sharding::groups(ranks);
  }  // elements
  [[gnu::always_inline]] static constexpr std::size_t gradient_slice(std::size_t ranks) {
    return gradient_part(ranks) * Sharding::groups(ranks);
  }  // elements
  static constexpr std::size_t values_slice_bytes(std::size_t ranks) { return slice(ranks) * value_size; }
  static constexpr std::size_t gathered_bytes(std::size_t ranks) {
    return values_slice_bytes(ranks) * Sharding::slices(ranks);
  }
  [[gnu::always_inline]] static constexpr std::size_t whole_gradient_bytes(std::size_t ranks) {
    return TensorArena::align(gradient_part(ranks) * ranks * sizeof(Reduce));
  }

  /// Where the master weights begin in the region of parameters.
  [[gnu::always_inline]] static constexpr std::size_t master_offset(std::size_t ranks) {
    if constexpr (shares_master) return 0;
    else return values_bytes(ranks);
  }
  /// Elements of master weights and of state that a rank keeps: all, or its slice.
  static constexpr std::size_t kept_master(std::size_t ranks) {
    return Sharding::slices_state ? slice(ranks) : layout.count;
  }
  [[gnu::always_inline]] static constexpr std::size_t kept_state(std::size_t ranks) {
    return Sharding::slices_state ? gradient_slice(ranks) : layout.trained;
  }

  /// Bytes of gaps in all buffers, before ranks share them.
  static constexpr std::size_t gap_bytes =
      layout.gap_bytes +
      (std::is_same_v<Master, NoMaster> ? 0
                                        : (shares_master ? 0 : layout.gaps * sizeof(Master)) +
                                              layout.trained_gaps * (sizeof(Reduce) + states * sizeof(Master)));

  static constexpr UnitRecord record(UnitOffsets first, std::size_t count, const LayerPath& path, std::size_t ranks) {
    return {.first = first,
            .size = size(ranks),
            .count = count,
            .path = path,
            .tensors = tensors,
            .elements = layout.count,
            .trained = layout.trained,
            .slice = slice(ranks),
            .gradient_slice = gradient_slice(ranks),
            .kept_state = kept_state(ranks),
            .gradient_part = gradient_part(ranks),
            .whole_gradient_bytes = whole_gradient_bytes(ranks),
            .values_slice_bytes = values_slice_bytes(ranks),
            .master_offset = master_offset(ranks),
            .gap_bytes = gap_bytes,
            .shares_master = shares_master,
            .is_uniform = is_uniform};
  }

  static constexpr UnitOffsets size(std::size_t ranks) {
    if (ranks == 1) return alone;
    const std::size_t gradients = Sharding::slices_gradients
                                      ? TensorArena::align(gradient_slice(ranks) * sizeof(Reduce))
                                      : whole_gradient_bytes(ranks);
    return {values_bytes(ranks) + (shares_master ? 0 : TensorArena::align(kept_master(ranks) * sizeof(Master))),
            gradients, TensorArena::align(kept_state(ranks) * states * sizeof(Master))};
  }

 private:
  static constexpr std::size_t values_bytes(std::size_t ranks) {
    if (ranks == 1 || !Sharding::slices_state) return TensorArena::align(layout.value_bytes);
    return TensorArena::align(Sharding::slices_parameters ? values_slice_bytes(ranks) : gathered_bytes(ranks));
  }
  static constexpr UnitOffsets alone{
      TensorArena::align(layout.value_bytes) + (shares_master ? 0 : TensorArena::align(layout.count * sizeof(Master))),
      TensorArena::align(layout.trained * sizeof(Reduce)), TensorArena::align(layout.trained* states * sizeof(Master))};
};

/// A parameter that several layers use is a unit of its own: the owner's node, without the walk.
template <class N>
struct TiedTable final {
  static constexpr ParameterLayout layout = N::own_layout;
  static constexpr void place_tensors(TensorPlace*& out, const TensorPlace& at) { N::place_own_tensors(out, at); }
  static constexpr void name_tensors(auto&& prefix, bool, auto& visit) { N::name_own_tensors(prefix, false, visit); }
};

// ---- parameters: gathered before their first use, freed after the last

template <class Unit>
constexpr NextUnit unit_at(const auto& walk, std::size_t values, const LayerPath& path) {
  if constexpr (Unit::Sharding::slices_parameters) {
    if (walk.ranks > 1) return {values, Unit::values_slice_bytes(walk.ranks), path};
  }
  return {};
}

/// Starts to gather the parameters of a unit at `whole`.
template <class Sharding>
constexpr std::size_t start_all_gather(auto& walk, const NextUnit& unit, std::size_t whole) {
  return walk.all_gather(
      {.own = unit.values, .all = whole, .bytes = unit.slice_bytes, .teams = Sharding::shard_group, .path = unit.path});
}
template <class Sharding>
constexpr GatheredUnit start_all_gather(auto& walk, const NextUnit& unit) {
  const std::size_t whole =
      walk.arena.take(unit.slice_bytes * Sharding::slices(walk.ranks), MemoryKind::communication, unit.path);
  return {unit.values, whole, start_all_gather<Sharding>(walk, unit, whole)};
}

// Functions that know a unit by its numbers alone are compiled once for all units of all models; those that ask the
// unit for them are inlined, also without optimisation.

template <class Sharding>
constexpr WeightPlaces gathered(auto& walk, const WeightPlaces& resident, const NextUnit& own, const NextUnit& next) {
  GatheredUnit here{};
  if (walk.ahead.is_of(resident.values)) {
    here = walk.ahead;
    walk.ahead = {};
  } else {
    here = start_all_gather<Sharding>(walk, own);
  }
  if (here.ticket != no_ticket) walk.await(here.ticket);
  if (Sharding::prefetches && !next.is_absent() && next.values != resident.values)
    walk.ahead = start_all_gather<Sharding>(walk, next);
  return {here.values, resident.gradients, resident.add, resident.buffers};
}
/// Before a unit computes: gathers its parameters for the kernels, and starts to gather the next unit.
template <class Unit>
[[gnu::always_inline]] constexpr WeightPlaces gather(auto& walk, const WeightPlaces& resident,
                                                     [[maybe_unused]] const LayerPath& path,
                                                     [[maybe_unused]] const NextUnit& next) {
  if constexpr (Unit::Sharding::slices_parameters)
    if (walk.ranks > 1)
      return gathered<typename Unit::Sharding>(walk, resident, unit_at<Unit>(walk, resident.values, path), next);
  return resident;
}
/// After a unit's last use in a pass: frees it, unless it is the next unit, too.
template <class Unit>
[[gnu::always_inline]] constexpr void release(auto& walk, [[maybe_unused]] const WeightPlaces& resident,
                                              [[maybe_unused]] const WeightPlaces& own,
                                              [[maybe_unused]] const NextUnit& next) {
  if constexpr (Unit::Sharding::slices_parameters)
    if (walk.ranks > 1) {
      if (next.values == resident.values) walk.ahead = {resident.values, own.values, no_ticket};
      else walk.arena.give(own.values);
    }
}

// ---- gradients: reduced after their unit's backward, while the next one runs

/// Zeroes the gaps between gradients. Backward assigns the gradients, not the gaps, and the norm reads both.
template <class Unit>
constexpr void clear_gaps(auto& walk, std::size_t gradients) {
  if constexpr (Unit::layout.trained_gaps > 0)
    walk.run(op::Zero<typename Unit::Reduce>{{gradients}, Unit::layout.trained});
}
/// Before backward: where the gradients are written.
template <class Unit>
[[gnu::always_inline]] constexpr WeightPlaces open_gradients(auto& walk, const WeightPlaces& own,
                                                             [[maybe_unused]] const LayerPath& path) {
  if constexpr (Unit::layout.trained > 0 && Unit::Sharding::reduces_each)
    if (walk.ranks > 1) {
      const std::size_t whole = walk.arena.take(Unit::whole_gradient_bytes(walk.ranks), MemoryKind::gradient, path);
      clear_gaps<Unit>(walk, whole);
      return {own.values, whole, false, own.buffers};
    }
  return own;
}

/// Awaits the running reduction.
template <class Reduce, class Sharding>
constexpr void finish_reduction(auto& walk) {
  ReducingUnit& under_way = walk.reducing;
  if (under_way.is_absent()) return;
  walk.await(under_way.ticket);
  if (under_way.staging != absent) walk.arena.give(under_way.staging);
  if (under_way.own != absent) {
    const View<Reduce> sum = View<Reduce>{under_way.whole} + Sharding::slice_of(walk.rank) * under_way.slice;
    if (under_way.add) walk.run(op::Add<Reduce>{sum, {under_way.own}, under_way.slice});
    else walk.run(op::Copy<Reduce>{sum, {under_way.own}, under_way.slice});
    if (!under_way.on_stack) walk.arena.give(under_way.whole);
  }
  under_way = {};
}

/// Reduces the gradients in the bucket; every rank keeps the sums.
template <class Reduce, class Sharding>
constexpr void send_bucket(auto& walk) {
  GradientBucket& bucket = walk.bucket;
  if (bucket.bytes == 0) return;
  const std::size_t slice_bytes = bucket.bytes / walk.ranks;
  walk.reduce_scatter({.all = bucket.begin,
                       .bytes = slice_bytes,
                       .element = element_type_of<Reduce>,
                       .staging = bucket.staging,
                       .teams = Sharding::shard_group,
                       .path = bucket.path});
  bucket.ticket = walk.all_gather(
      {.own = bucket.begin + walk.rank * slice_bytes, .all = bucket.begin, .bytes = slice_bytes, .path = bucket.path});
  bucket.bytes = 0;
}
/// After a unit's backward: adds its gradients to the bucket, which has those of the next unit, directly above them.
template <class Reduce, class Sharding>
constexpr void reduce_in_bucket(auto& walk, std::size_t gradients, std::size_t bytes, const LayerPath& path) {
  GradientBucket& bucket = walk.bucket;
  if (gradients + bytes != bucket.begin) send_bucket<Reduce, Sharding>(walk);
  bucket.begin = gradients;
  bucket.bytes += bytes;
  bucket.path = path;
  if (bucket.bytes >= walk.engine.bucket(Sharding::bucket)) send_bucket<Reduce, Sharding>(walk);
}

/// Ends every reduction: of the gradients in a bucket, and running ones.
template <class Reduce, class Sharding>
constexpr void finish_reductions(auto& walk) {
  if constexpr (Sharding::bucket == 0) finish_reduction<Reduce, Sharding>(walk);
  else {
    send_bucket<Reduce, Sharding>(walk);
    if (walk.bucket.ticket != no_ticket) walk.await(walk.bucket.ticket);  // and, by the order, all earlier ones
    walk.bucket.ticket = no_ticket;
  }
}

/// A unit's gradients that a reduction sums over the ranks.
///   whole, own    where they lie, and where this rank keeps their sum
///   slice, part   elements of a rank's slice, and of a part of it
///   add           the sum is added to what is kept
///   on_stack      `whole` lies on the saved stack
struct UnitGradients {
  std::size_t whole, own, slice, part;
  bool add, on_stack;
};
template <class Reduce, class Sharding>
constexpr void start_reduction(auto& walk, const UnitGradients& unit, const LayerPath& path) {
  finish_reduction<Reduce, Sharding>(walk);
  const std::size_t slice = unit.slice, part = unit.part, groups = Sharding::groups(walk.ranks),
                    of_shards =
                        Sharding::Transport::staging_bytes(Sharding::slices(walk.ranks), slice * sizeof(Reduce)),
                    of_replicas = Sharding::Transport::staging_bytes(groups, part * sizeof(Reduce)),
                    staging_bytes = of_shards > of_replicas ? of_shards : of_replicas;
  ReducingUnit& under_way = walk.reducing;
  under_way.whole = unit.whole;
  under_way.slice = slice;
  under_way.add = unit.add;
  under_way.on_stack = unit.on_stack;
  if (staging_bytes > 0)
    under_way.staging = walk.arena.take(TensorArena::align(staging_bytes), MemoryKind::communication, path);
  if constexpr (Sharding::reduces_each)
    under_way.own =
        unit.own + (Sharding::slices_gradients ? 0 : Sharding::slice_of(walk.rank) * slice * sizeof(Reduce));
  under_way.ticket = walk.reduce_scatter({.all = under_way.whole,
                                          .bytes = slice * sizeof(Reduce),
                                          .element = element_type_of<Reduce>,
                                          .staging = under_way.staging,
                                          .teams = Sharding::shard_group,
                                          .path = path});
  if (groups >
      1) {  // then, in order: sums over the groups, part by part, and their all-gather among the ranks of the slice
    const View<Reduce> own = View<Reduce>{under_way.whole} + Sharding::slice_of(walk.rank) * slice,
                       summed = own + Sharding::copy_of(walk.rank) * part;
    const std::size_t bytes = part * sizeof(Reduce);
    walk.reduce_scatter({.all = own.offset,
                         .bytes = bytes,
                         .element = element_type_of<Reduce>,
                         .staging = under_way.staging,
                         .teams = Sharding::replica_group(walk.ranks),
                         .path = path});
    under_way.ticket = walk.all_gather({.own = summed.offset,
                                        .all = own.offset,
                                        .bytes = bytes,
                                        .teams = Sharding::replica_group(walk.ranks),
                                        .path = path});
  }
  if constexpr (Sharding::stage == 0 && !Sharding::reduces_each)  // then, in order: every rank gets all sums
    under_way.ticket = walk.all_gather({.own = under_way.whole + walk.rank * slice * sizeof(Reduce),
                                        .all = under_way.whole,
                                        .bytes = slice * sizeof(Reduce),
                                        .path = path});
}
/// After backward: starts the reduction over all ranks.
///   resident   where the unit's gradients are kept
///   written    the result of open_gradients, or a place on the saved stack
template <class Unit>
[[gnu::always_inline]] constexpr void reduce(auto& walk, [[maybe_unused]] const WeightPlaces& resident,
                                             [[maybe_unused]] const WeightPlaces& written,
                                             [[maybe_unused]] const LayerPath& path,
                                             [[maybe_unused]] bool on_stack = false) {
  using Reduce = typename Unit::Reduce;
  using Sharding = typename Unit::Sharding;
  if constexpr (Unit::layout.trained > 0 && !Sharding::alone)
    if (walk.ranks > 1 && walk.reduces) {
      if constexpr (Sharding::bucket > 0)
        reduce_in_bucket<Reduce, Sharding>(walk, written.gradients, Unit::whole_gradient_bytes(walk.ranks), path);
      else
        start_reduction<Reduce, Sharding>(walk,
                                          {.whole = written.gradients,
                                           .own = resident.gradients,
                                           .slice = Unit::gradient_slice(walk.ranks),
                                           .part = Unit::gradient_part(walk.ranks),
                                           .add = resident.add,
                                           .on_stack = on_stack},
                                          path);
    }
}

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
