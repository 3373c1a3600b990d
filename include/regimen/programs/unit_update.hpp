// regimen/programs/unit_update.hpp — the update of a unit's weights, whole or in slices, by the rule of each group.
#pragma once

#include <regimen/core/defect.hpp>
#include <regimen/core/whole_tensor.hpp>
#include <regimen/policy/optimizer.hpp>
#include <regimen/programs/forward.hpp>
#include <regimen/programs/groups.hpp>
#include <regimen/programs/pieces.hpp>
#include <regimen/programs/update_whole_tensor.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace regimen::programs {

/// What a step does with each unit that trains, once its gradients are complete.
///   Bound   walk::BoundModel      UpdateRule   as Optimizer names it
template <class Bound, class UpdateRule>
struct UnitUpdate {
  using Master = typename Bound::Roles::master;
  using Reduce = typename Bound::Roles::reduce;
  using Sharding = typename Bound::Ctx::Sharding;

  /// Elements of slice (or part) `index` of a buffer of `count` elements; the last slices may be shorter, or empty.
  static constexpr std::size_t in_slice(std::size_t count, std::size_t slice, std::size_t index) {
    const std::size_t begin = index * slice;
    return begin >= count ? 0 : count - begin < slice ? count - begin : slice;
  }

  /// Σ g² of each part that belongs to this rank, separately, so that the total does not depend on the sharding.
  ///   trained, size   of the unit's gradient, and of a part of it
  static constexpr void sum_squares(auto& walk, const Resident& r, walk::UnitOffsets at, std::size_t trained,
                                    [[maybe_unused]] std::size_t size) {
    const View<Reduce> kept{r.gradients + at.gradients};
    if (Sharding::alone || walk.ranks == 1) {
      walk.run(op::SumOfSquares<Reduce>{kept, square_sum_of(r.scalars), trained});
      return;
    }
    const auto sum = [&](std::size_t part, View<Reduce> gradient) {
      walk.run(op::SumOfSquares<Reduce>{gradient, square_sum_of(r.sums + Sharding::rank_of(part, walk.ranks)),
                                        in_slice(trained, size, part)});
    };
    const std::size_t own = Sharding::part_of(walk.rank, walk.ranks);
    if constexpr (Sharding::slices_gradients) sum(own, kept + Sharding::copy_of(walk.rank) * size);
    else if constexpr (Sharding::slices_state) sum(own, kept + own * size);
    else
      for (std::size_t part = 0; part < walk.ranks; ++part) sum(part, kept + part * size);
  }

  /// The update rules of the groups of parameters.
  using Groups = GroupsOf<UpdateRule>;
  template <std::size_t group>
  using RuleOf = rule_of<UpdateRule, group>;
  /// What updates are given.   scalars   of each group; of the step, if there is one group
  struct Inputs {
    const typename UpdateRule::Options& options;
    View<Scalars> scalars;
  };
  template <std::size_t group>
  static constexpr auto scalars_of_group(View<Scalars> scalars, View<Scalars> to,
                                         const typename UpdateRule::Options& options) {
    op::ScalarsOfGroup<RuleOf<group>> made{scalars, to, Groups::template options<group>(options)};
    if (const auto& own = Groups::template schedule<group>(options)) {
      made.has_schedule = true;
      made.schedule = *own;
      made.base = options.learning_rate;
    }
    return made;
  }
  static constexpr View<Scalars> begin_groups(auto& walk, const Resident& r,
                                              [[maybe_unused]] const typename UpdateRule::Options& options,
                                              [[maybe_unused]] const LayerPath& path) {
    if constexpr (Groups::count == 1) return r.scalars;
    else {
      const View<Scalars> scalars{
          walk.arena.take(TensorArena::align(Groups::count * sizeof(Scalars)), MemoryKind::optimizer, path)};
      [&]<std::size_t... group>(std::index_sequence<group...>) {
        (walk.run(scalars_of_group<group>(r.scalars, scalars + group, options)), ...);
      }(std::make_index_sequence<Groups::count>{});
      return scalars;
    }
  }

  static constexpr auto sees_whole = []<class... Rules>(boost::mp11::mp_list<Rules...>) {
    return std::array{regimen::detail::sees_whole_tensors<Rules>...};
  }(typename Groups::Rules{});
  static constexpr std::size_t none = ~std::size_t{0};
  /// The most states of a tensor of a unit whose rule sees whole tensors; `none`, if there is no such tensor.
  static constexpr std::size_t whole_states(std::span<const walk::TensorPlace> tensors) {
    std::size_t most = none;
    for (const walk::TensorPlace& tensor : tensors)
      if (tensor.trains && sees_whole[tensor.group] && (most == none || tensor.states > most)) most = tensor.states;
    return most;
  }

  static constexpr void update_unit(auto& walk, const Resident& r, const walk::UnitRecord& unit, walk::UnitOffsets at,
                                    const Inputs& given, [[maybe_unused]] const LayerPath& path) {
    for (std::size_t group = 0; group < Groups::count; ++group) {
      if (sees_whole[group]) continue;
      for (Piece piece = piece_from(unit.tensors, group, 0); piece.segments.count > 0;
           piece = piece_from(unit.tensors, group, piece.end))
        update_piece(walk, given, unit, piece, places_of(walk, r, unit, at, piece));
    }
    if constexpr (any_sees_whole) {
      if (whole_states(unit.tensors) == none) return;
      if constexpr (Sharding::slices_state)
        if (walk.ranks > 1) return update_gathered(walk, r, unit, at, given, path);
      const std::size_t values = r.parameters + at.parameters;
      update_tensors(walk, given, path, unit,
                     {.master = values + unit.master_offset,
                      .gradient = r.gradients + at.gradients,
                      .state = r.states + at.states,
                      .values = unit.shares_master ? walk::absent : values,
                      .state_stride = unit.trained});
    }
  }

 private:
  static constexpr bool any_sees_whole = [] {
    for (const bool whole : sees_whole)
      if (whole) return true;
    return false;
  }();

  static constexpr bool is_uniform = [] {
    for (const walk::UnitRecord& unit : Bound::units(1))
      if (!unit.is_uniform) return false;
    return true;
  }();

  // ---- types: of a group's rule, and of the copy that kernels read; of the master weights, if they read these

  static constexpr ElementType element_of(const walk::UnitRecord& unit, const walk::TensorPlace& tensor) {
    return unit.shares_master ? element_type_of<Master> : tensor.element;
  }
  /// Whether the model has such a tensor that trains.
  template <std::size_t group, ElementType element>
  static constexpr bool occurs = [] {
    for (const walk::UnitRecord& unit : Bound::units(1))
      for (const walk::TensorPlace& tensor : unit.tensors)
        if (tensor.trains && tensor.group == group && element_of(unit, tensor) == element) return true;
    return false;
  }();
  static constexpr std::size_t element_types = std::size_t(ElementType::float16) + 1;
  template <std::size_t k>
  [[gnu::always_inline]] static constexpr bool with_types_at(std::size_t group, ElementType element, auto&& f) {
    constexpr std::size_t of_group = k / element_types;
    constexpr ElementType of_element = static_cast<ElementType>(k % element_types);
    if constexpr (occurs<of_group, of_element>)
      if (group == of_group && element == of_element) {
        f.template operator()<of_group, element_t<of_element>>();
        return true;
      }
    return false;
  }
  /// f<group, T>() for the types of a tensor.
  static constexpr void with_types(const walk::UnitRecord& unit, const walk::TensorPlace& tensor, auto&& f) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      if (!(with_types_at<k>(tensor.group, element_of(unit, tensor), f) || ...))
        defect("an update of weights of a type that no layer has");
    }(std::make_index_sequence<Groups::count * element_types>{});
  }
  template <std::size_t group>
  static constexpr View<Master> state_at(std::size_t offset) {
    return RuleOf<group>::states == 0 ? View<Master>{} : View<Master>{offset};
  }

  // ---- the tensors of a group whose rule is elementwise

  /// Where the elements of a piece lie that one update changes: in bytes.   first   of the piece, in elements
  struct PiecePlaces {
    std::size_t master, state, gradient, values, count, state_stride, first = 0;
  };
  static constexpr void update_piece(auto& walk, const Inputs& given, const walk::UnitRecord& unit, const Piece& piece,
                                     const PiecePlaces& places) {
    with_types(unit, piece.first, [&]<std::size_t group, class T>() {
      if constexpr (!sees_whole[group])
        walk.run(op::Update<RuleOf<group>, Master, T, Reduce>{
            .master = {places.master},
            .state = state_at<group>(places.state),
            .copy = unit.shares_master ? View<T>{} : View<T>{places.values},
            .gradient = {places.gradient},
            .scalars = given.scalars + group,
            .segments = piece.segments,
            .count = places.count,
            .state_stride = places.state_stride,
            .options = Groups::template options<group>(given.options),
            .first = places.first});
    });
  }
  /// Of a whole piece; if ranks keep slices, of what lies in this rank's: of master weights, state, and the copy that
  /// kernels read.
  static constexpr PiecePlaces places_of(auto& walk, const Resident& r, const walk::UnitRecord& unit,
                                         walk::UnitOffsets at, const Piece& piece) {
    const std::size_t parameters = r.parameters + at.parameters, states = r.states + at.states,
                      gradients = r.gradients + at.gradients;
    if constexpr (Sharding::slices_state) {
      static_assert(is_uniform, "regimen: a unit of weights of several types cannot be cut into slices");
      if (walk.ranks > 1) {
        const std::size_t slice = unit.slice, begin = Sharding::slice_of(walk.rank) * slice;
        const auto [skipped, count] = part_in_slice(piece.first.gradient, piece.elements, begin, slice);
        const std::size_t offset = count > 0 ? piece.first.gradient + skipped - begin : 0,
                          values = parameters +
                                   (offset + (Sharding::slices_parameters ? 0 : begin)) * bytes_of(piece.first.element);
        return {.master = unit.shares_master ? values : parameters + unit.master_offset + offset * sizeof(Master),
                .state = states + offset * sizeof(Master),
                .gradient = gradients + ((Sharding::slices_gradients ? 0 : begin) + offset) * sizeof(Reduce),
                .values = values,
                .count = count,
                .state_stride = slice,
                .first = skipped};
      }
    }
    return {.master = parameters + unit.master_offset + piece.first.master * sizeof(Master),
            .state = states + piece.first.gradient * sizeof(Master),
            .gradient = gradients + piece.first.gradient * sizeof(Reduce),
            .values = parameters + piece.first.values,
            .count = piece.elements,
            .state_stride = unit.trained};
  }

  // ---- the tensors of a group whose rule sees whole tensors

  /// Where the arrays of a unit begin that are whole on this rank.   values   the copy that kernels read; or absent
  struct WholeUnit {
    std::size_t master, gradient, state, values = walk::absent, state_stride = 0;
  };
  static constexpr void update_tensors(auto& walk, const Inputs& given, const LayerPath& path,
                                       const walk::UnitRecord& unit, const WholeUnit& whole) {
    for (const walk::TensorPlace& tensor : unit.tensors)
      if (tensor.trains && sees_whole[tensor.group]) update_tensor(walk, given, path, unit, whole, tensor);
  }
  static constexpr void update_tensor(auto& walk, const Inputs& given, const LayerPath& path,
                                      const walk::UnitRecord& unit, const WholeUnit& whole,
                                      const walk::TensorPlace& tensor) {
    with_types(unit, tensor, [&]<std::size_t group, class T>() {
      if constexpr (sees_whole[group])
        update_whole_tensor(
            walk,
            op::UpdateTensor<RuleOf<group>, Master, T, Reduce>{
                .master = {whole.master + tensor.master * sizeof(Master)},
                .state = state_at<group>(whole.state + tensor.gradient * sizeof(Master)),
                .copy = whole.values == walk::absent ? View<T>{} : View<T>{whole.values + tensor.values},
                .gradient = {whole.gradient + tensor.gradient * sizeof(Reduce)},
                .scalars = given.scalars + group,
                .rows = tensor.rows,
                .columns = tensor.count / tensor.rows,
                .state_stride = whole.state_stride,
                .decays = tensor.decays,
                .options = Groups::template options<group>(given.options)},
            path);
    });
  }

  /// A rule of whole tensors, where ranks keep slices: they gather the unit's gradient, state and master weights,
  /// update all of it, each rank alike, and keep their slices of the results. So every Shard has the bits of
  /// Replicated.
  /// memory  the gathered arrays, while the unit is updated. Master weights that kernels read on every rank are whole
  ///         already, except for elements that were just updated one by one; they are whole again afterwards. Other
  ///         master weights are rounded here to the copies that kernels read. So gather_values has nothing to do
  static constexpr void update_gathered(auto& walk, const Resident& r, const walk::UnitRecord& unit,
                                        walk::UnitOffsets at, const Inputs& given, const LayerPath& path) {
    const bool gathers_master = !unit.shares_master || Sharding::slices_parameters;
    const std::size_t states = whole_states(unit.tensors);
    const std::size_t slice = unit.slice, index = Sharding::slice_of(walk.rank), begin = index * slice,
                      all = slice * Sharding::slices(walk.ranks), kept = in_slice(unit.elements, slice, index),
                      values = r.parameters + at.parameters, own_master = values + unit.master_offset,
                      own_state = r.states + at.states;
    const auto take = [&](std::size_t bytes) { return walk.arena.take(bytes, MemoryKind::communication, path); };
    std::size_t ticket = no_ticket;
    const auto gather = [&](std::size_t own, std::size_t to, std::size_t element) {
      ticket = walk.all_gather(
          {.own = own, .all = to, .bytes = slice * element, .teams = Sharding::shard_group, .path = path});
    };
    WholeUnit whole{.master = gathers_master ? take(all * sizeof(Master)) : values,
                    .gradient = take(all * sizeof(Reduce)),
                    .state = states > 0 ? take(all * states * sizeof(Master)) : walk::absent,
                    .state_stride = all};
    if (gathers_master) gather(own_master, whole.master, sizeof(Master));
    else if (has_elements(unit.tensors)) gather(values + begin * sizeof(Master), values, sizeof(Master));
    for (std::size_t s = 0; s < states; ++s)
      gather(own_state + s * slice * sizeof(Master), whole.state + s * all * sizeof(Master), sizeof(Master));
    gather(r.gradients + at.gradients + (Sharding::slices_gradients ? 0 : begin * sizeof(Reduce)), whole.gradient,
           sizeof(Reduce));
    walk.await(ticket);  // and, by the order, all earlier ones
    update_tensors(walk, given, path, unit, whole);

    const auto keep = [&](std::size_t from, std::size_t own) {
      walk.run(op::Copy<Master>{{from + begin * sizeof(Master)}, {own}, kept});
    };
    if (gathers_master) keep(whole.master, own_master);
    for (std::size_t s = 0; s < states; ++s)
      keep(whole.state + s * all * sizeof(Master), own_state + s * slice * sizeof(Master));
    if (!unit.shares_master)
      with_types(unit, unit.tensors[0], [&]<std::size_t, class T>() {
        if constexpr (std::is_same_v<T, Master>) defect("weights that kernels read lie beside equal ones");
        else if constexpr (Sharding::slices_parameters) walk.run(op::Cast<Master, T>{{own_master}, {values}, kept});
        else walk.run(op::Cast<Master, T>{{whole.master}, {values}, unit.elements});
      });
    if (states > 0) walk.arena.give(whole.state);
    walk.arena.give(whole.gradient);
    if (gathers_master) walk.arena.give(whole.master);
  }
  /// Whether a unit has elements that are updated one by one.
  static constexpr bool has_elements(std::span<const walk::TensorPlace> tensors) {
    for (const walk::TensorPlace& tensor : tensors)
      if (tensor.trains && !sees_whole[tensor.group]) return true;
    return false;
  }
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
