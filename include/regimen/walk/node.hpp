// regimen/walk/node.hpp — the walker of one layer, and the parts that all walkers share.
//
// Only walkers allocate and free memory. A tensor lies on the saved stack if a later backward reads it, else on the
// transient side, and is freed right after its last use. A Node is a layer, or a tree of layers, bound to its input:
//
//   forward(..., const Way&)         consumes x, pushes `footprint(place)` bytes, returns y
//   retire_output(place)     before backward: pops y, unless the node itself reads it
//   backward(..., place)     consumes d_y, pops the rest down to `floor`, returns d_x (owned, transient), or absent
//   Output, layout, active, reads_input, reads_output, recomputes_output, reads_weights, keeps_d_y, is_idle(place),
//   place_tensors, name_tensors      what other walkers, and the lists of parameters, ask of it
//   sums_y, sums_d_x         optional: whether it adds a Way's `onto` to y, and that of d_y to d_x
//
// How a node is walked is an argument, no template parameter: one function of each serves training, recomputation and
// inference. The shapes determine the layout of the saved stack, so no offset is stored between the two passes.
#pragma once

#include <regimen/core/arena.hpp>
#include <regimen/core/defect.hpp>
#include <regimen/core/weights.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/walk/context.hpp>
#include <regimen/walk/layout.hpp>
#include <regimen/walk/tensors.hpp>
#include <regimen/walk/walk.hpp>

#include <algorithm>
#include <type_traits>

namespace regimen::walk {

using regimen::NoMaster;

/// One layer. `flows`: whether a layer before it needs a gradient.
template <class Layer, class X, class Context, bool flows>
struct Node {
  using Bound = typename Layer::template Bound<X, typename Context::Roles>;
  using Output = typename Bound::Output;
  using Declared = typename Bound::Saved;
  using Owner = typename origin<Layer>::parameters;
  using Master = typename Context::Roles::master;

  static constexpr std::size_t declared_count = [] {
    std::size_t sum = 0;
    for (const Parameter& parameter : Bound::parameters) sum += parameter.size();
    return sum;
  }();
  static constexpr std::size_t tied_index = mp::mp_find<typename Context::Tied, Owner>::value;
  static constexpr bool is_tied = declared_count > 0 && tied_index < mp::mp_size<typename Context::Tied>::value;
  static constexpr bool has_name = !std::is_void_v<typename Bound::Named>;
  static constexpr std::size_t named_index = mp::mp_find<typename Context::Named, typename Bound::Named>::value;
  static constexpr bool has_lengths = !std::is_void_v<typename Bound::Lengths>;
  static constexpr std::size_t lengths_index = mp::mp_find<typename Context::Named, typename Bound::Lengths>::value;
  static constexpr bool frozen = Context::Freeze::template freezes<Owner>;
  static constexpr bool trains = declared_count > 0 && !frozen;
  static constexpr bool active = flows || trains || Bound::adds_to_named;  // whether it has a backward

  static constexpr ElementType element_type = [] {
    if constexpr (declared_count > 0) return element_type_of<typename Bound::Element>;
    else return ElementType::float32;
  }();
  static constexpr std::size_t element_bytes = [] {
    if constexpr (declared_count > 0) return sizeof(typename Bound::Element);
    else return std::size_t{1};
  }();
  static constexpr std::size_t parameter_count = Bound::parameters.size(), buffer_count = Bound::buffers.size();
  using Buffer = buffer_t<typename Context::Roles>;
  /// Elements at whose multiples a parameter begins, so that it is aligned in the buffer with the narrowest elements,
  /// too.
  static constexpr std::size_t granule =
      Context::alignment /
      (std::is_same_v<Master, NoMaster>
           ? (std::min)(Context::alignment, element_bytes)
           : (std::min)({Context::alignment, element_bytes, sizeof(Master), sizeof(typename Context::Roles::reduce)}));
  static constexpr auto begins = begins_of(Bound::parameters, granule);
  static constexpr auto buffer_begins = begins_of(Bound::buffers, TensorArena::alignment / sizeof(Buffer));
  static constexpr std::size_t own_count = begins[parameter_count], own_gaps = own_count - declared_count;
  static constexpr ParameterLayout own_layout{.value_bytes = own_count * element_bytes,
                                              .value_alignment = granule * element_bytes,
                                              .count = own_count,
                                              .trained = trains ? own_count : 0,
                                              .tensors = parameter_count,
                                              .all_master = declared_count == 0 || std::is_same_v<Master, NoMaster> ||
                                                            std::is_same_v<typename Bound::Element, Master>,
                                              .gaps = own_gaps,
                                              .trained_gaps = trains ? own_gaps : 0,
                                              .gap_bytes = own_gaps * element_bytes,
                                              .buffer_bytes = buffer_begins[buffer_count] * sizeof(Buffer)};
  static constexpr ParameterLayout layout = is_tied ? ParameterLayout{} : own_layout;

  static constexpr bool recomputes_output =
      active && (Context::Checkpoint::template recomputes<typename origin<Layer>::output> ||
                 (places_of<Layer> > 1 && Context::Checkpoint::template recomputes<Owner>));
  static constexpr bool reads(Reads wanted) {
    Reads declared = Bound::backward_reads(trains);
    if (declared == Reads::input_or_output) declared = recomputes_output ? Reads::input : Reads::output;
    return active && (declared == wanted || declared == Reads::input_and_output);
  }
  static constexpr bool reads_input = reads(Reads::input), reads_output = reads(Reads::output);
  /// Whether backward still reads the output's gradient after popping tensors below the output. Not
  /// here: the only pop comes last.
  static constexpr bool keeps_d_y = false;
  static constexpr bool reads_weights = active && layout.count > 0 && Bound::backward_reads_parameters(flows);
  static constexpr bool sums_y = Bound::sums_y && !reads_output, sums_d_x = Bound::sums_d_x;
  static_assert(!recomputes_output || !reads_output,
                "regimen: Selective<...> names a layer whose backward reads its own output; keep that output");
  using Saved = std::conditional_t<active, Declared, Tensors<>>;

  static constexpr std::size_t footprint(const auto& walk, Place place) {
    return bytes_of_all<Saved>(walk) + (place == Place::saved ? bytes_of<Output>(walk) : 0);
  }

  /// Whether a recomputation that only serves backward has nothing to do.
  static constexpr bool is_idle(Place place) { return place == Place::nowhere && Saved::count == 0; }

  static constexpr std::size_t forward(auto& walk, const Tensor& x, const WeightPlaces& weights, const LayerPath& path,
                                       const Way& way) {
    if (is_idle(way.place)) {
      if (x.owned) walk.arena.give(x.offset);
      return absent;
    }
    const bool keeps = way.mode == Mode::save && active;
    ForwardCall<Declared::count, Bound::ForwardScratch::count, Bound::Cache::count, parameter_count, buffer_count> call{
        .x = x.offset,
        .y = absent,
        .parameters = offsets_of(locate(walk, weights).values, begins, element_bytes),
        .path = path,
        .onto = way.onto};
    if constexpr (Bound::Cache::count > 0) call.cache = offsets_from<typename Bound::Cache>(1, walk.cache);
    if constexpr (buffer_count > 0) find_buffers(walk, weights, call);
    find_named(walk, call);
    // What is computed twice is computed by the same operations, so that it has the same bits.
    const bool saves = keeps || !Bound::saves_for_backward || (active && Context::twice);
    if (keeps) call.saved = allocate_all<Declared, MemoryKind::saved>(walk, path);
    else if (saves) call.saved = allocate_all<Declared, MemoryKind::scratch>(walk, path);
    else call.saved.fill(absent);
    const bool reuse = can_reuse && way.place != Place::saved && x.owned;
    call.y = reuse ? x.offset : allocate<Output>(walk, way.place, path);
    compute(walk, call);
    walk.template produced<typename Output::Element>(call.y, walk.batch * Output::size, path, Output::columns,
                                                     Output::leading);
    if (!keeps && saves) give_all(walk, call.saved);
    if (x.owned && !reuse) walk.arena.give(x.offset);
    if (way.place == Place::nowhere) walk.arena.give(call.y);
    return call.y;
  }
  /// Recomputes the output from the saved input. This writes the layer's saved tensors again, with equal bits.
  static constexpr std::size_t recompute(auto& walk, std::size_t x, std::size_t floor, const WeightPlaces& weights,
                                         const LayerPath& path) {
    ForwardCall<Declared::count, Bound::ForwardScratch::count, 0, parameter_count, buffer_count> call{
        .x = x,
        .y = allocate<Output>(walk, Place::transient, path),
        .parameters = offsets_of(locate(walk, weights).values, begins, element_bytes),
        .saved = offsets_from<Declared>(walk.capacity, std::size_t{floor}),
        .path = path};
    if constexpr (buffer_count > 0) find_buffers(walk, weights, call);
    find_named(walk, call);
    compute(walk, call);
    return call.y;
  }

  [[gnu::always_inline]] static constexpr void retire_output(auto& walk, Place place) {
    if (place == Place::saved && !reads_output) pop<Output>(walk);
  }

  static constexpr std::size_t backward(auto& walk, const Tensor& d_y, std::size_t x, std::size_t floor,
                                        const WeightPlaces& weights, const LayerPath& path, Place) {
    const std::size_t y = reads_output ? floor + bytes_of_all<Declared>(walk) : absent;
    const WeightPlaces here = locate(walk, weights);
    constexpr bool writes = flows || Bound::always_writes_d_x;
    const bool reuse = can_reuse && writes && d_y.owned;
    BackwardCall<Declared::count, Bound::BackwardScratch::count, parameter_count> call{
        .x = x,
        .y = y,
        .d_y = d_y.offset,
        .d_x = absent,
        .parameters = offsets_of(here.values, begins, element_bytes),
        .gradients = offsets_of(trains ? here.gradients : absent, begins, sizeof(typename Context::Roles::reduce)),
        .add = here.add,
        .saved = offsets_from<Declared>(walk.capacity, std::size_t{floor}),
        .path = path,
        .onto = d_y.onto,
        .uses_buffers = Context::keeps_statistics};
    find_named(walk, call);
    if constexpr (has_name) call.d_named = walk.named[named_index].gradient;
    if (Bound::writes_d_sum) call.d_sum = d_y.owned ? d_y.offset : allocate<Output>(walk, Place::transient, path);
    if constexpr (Bound::derives_before && flows) call.saved_before = saved_before<X>(walk, x, floor);
    if (reuse) call.d_x = d_y.offset;
    else if (writes) call.d_x = allocate<X>(walk, Place::transient, path);
    call.scratch = allocate_all<typename Bound::BackwardScratch, MemoryKind::scratch>(walk, path);
    walk.path = path;
    Bound::backward(walk, call);
    if constexpr (writes) walk.template produced<typename X::Element>(call.d_x, walk.batch * X::size, path);
    give_all(walk, call.scratch);
    if (d_y.owned && !reuse) walk.arena.give(d_y.offset);
    if (Bound::writes_d_sum && !d_y.owned) walk.arena.give(call.d_sum);
    if constexpr (is_tied && trains) walk.tied[tied_index].add = true;
    walk.arena.pop_to(floor);
    if constexpr (writes && !flows) {
      walk.arena.give(call.d_x);
      return absent;
    }
    return call.d_x;
  }

  // The place of each tensor in its unit, from `at` on.
  static constexpr void place_tensors(TensorPlace*& out, const TensorPlace& at) {
    if constexpr (!is_tied) place_own_tensors(out, at);
  }
  static constexpr void place_own_tensors(TensorPlace*& out, const TensorPlace& at) {
    const std::size_t* begin = begins.data();
    for (const Parameter& parameter : Bound::parameters) {
      *out++ = TensorPlace{.values = at.values + *begin * element_bytes,
                           .master = at.master + *begin,
                           .gradient = at.gradient + (trains ? *begin : 0),
                           .count = parameter.size(),
                           .element = element_type,
                           .trains = trains,
                           .rows = parameter.rank > 1 ? parameter.extents[0] : 1,
                           .states = Context::states};
      if constexpr (!std::is_void_v<typename Context::Decays>)
        out[-1].decays = Context::Decays::template decays<Owner>(parameter);
      if constexpr (!std::is_void_v<typename Context::Groups>) {
        out[-1].group = Context::Groups::template group_of<Owner>(parameter);
        out[-1].states = Context::Groups::states_of(out[-1].group);
      }
      ++begin;
    }
  }

  /// Calls visit(prefix, parameter, whether its owner ends a residual branch) in the order of place_tensors, and
  /// visit(prefix, buffer) in the order in which buffers lie in memory. The prefix and the name of both are its name.
  [[gnu::cold]] static constexpr void name_tensors(auto&& prefix, bool ends_branch, auto& visit) {
    if constexpr (!is_tied) name_own_tensors(prefix, ends_branch, visit);
  }
  static constexpr void name_own_tensors(const auto& prefix, bool ends_branch, auto& visit) {
    for (const Parameter& parameter : Bound::parameters) visit(prefix, parameter, ends_branch);
    if constexpr (buffer_count > 0)
      for (const Parameter& buffer : Bound::buffers) visit(prefix, buffer);
  }

 private:
  static constexpr bool can_reuse =
      Bound::in_place && std::is_same_v<typename X::Element, typename Output::Element> && X::size == Output::size;

  [[gnu::always_inline]] static constexpr WeightPlaces locate(const auto& walk, const WeightPlaces& weights) {
    if constexpr (is_tied) return walk.tied[tied_index];
    else return weights;
  }
  [[gnu::always_inline]] static constexpr void find_named([[maybe_unused]] const auto& walk,
                                                          [[maybe_unused]] auto& call) {
    if constexpr (has_name) call.named = walk.named[named_index].value;
    if constexpr (has_lengths) call.lengths = walk.named[lengths_index].value;
  }
  /// Recomputation belongs to backward, so that a forward moves the buffers once.
  static constexpr void find_buffers(const auto& walk, const WeightPlaces& weights, auto& call) {
    if (weights.buffers == absent) defect("a walker passed no buffers on");
    for (std::size_t i = 0; i < buffer_count; ++i)
      call.buffers[i] = weights.buffers + buffer_begins[i] * sizeof(Buffer);
    call.uses_buffers = !walk.training || Context::keeps_statistics;
    call.moves = !call.uses_buffers && walk.phase() == op::Phase::forward;
  }
  static constexpr void compute(auto& walk, auto& call) {
    walk.path = call.path;
    call.scratch = allocate_all<typename Bound::ForwardScratch, MemoryKind::scratch>(walk, call.path);
    Bound::forward(walk, call);
    give_all(walk, call.scratch);
  }
};

/// A combinator that nothing walks: each has a specialisation of its own.
template <Combinator Layer, class X, class Context, bool flows>
struct Node<Layer, X, Context, flows> {};

/// Adds a tensor to another.   V   of both
template <class V>
constexpr void add(auto& walk, std::size_t from, std::size_t to) {
  walk.run(op::Add<typename V::Element>{{from}, {to}, walk.batch * V::size});
}
template <class V>
constexpr std::size_t copy_of(auto& walk, std::size_t tensor, Place place, const LayerPath& path) {
  const std::size_t copy = allocate<V>(walk, place, path);
  walk.run(op::Copy<typename V::Element>{{tensor}, {copy}, walk.batch * V::size});
  return copy;
}

/// Whether a walker has the members that the top of this header lists. Instantiates no function.
template <class Walker, class Walk>
concept Walks = requires(Walk& walk, const Tensor& tensor, const WeightPlaces& weights, Place place, const Way& way,
                         TensorPlace*& out) {
  typename Walker::Output::Shape;
  Walker::layout.count;
  Walker::active&& Walker::reads_input&& Walker::reads_output&& Walker::recomputes_output&& Walker::reads_weights&&
      Walker::keeps_d_y&& Walker::is_idle(place);
  Walker::footprint(walk, place);
  Walker::forward(walk, tensor, weights, LayerPath{}, way);
  Walker::retire_output(walk, place);
  Walker::backward(walk, tensor, absent, absent, weights, LayerPath{}, place);
  Walker::place_tensors(out, TensorPlace{});
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
