// regimen/programs/unit_update.hpp — the update of a unit's weights, whole or in slices, by the rule of each group.
#pragma once

#include <regimen/core/whole_tensor.hpp>
#include <regimen/policy/optimizer.hpp>
#include <regimen/programs/forward.hpp>
#include <regimen/programs/groups.hpp>
#include <regimen/programs/pieces.hpp>
#include <regimen/programs/update_whole_tensor.hpp>

#include <array>
#include <cstddef>
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

  /// Whether the rule of a tensor sees whole tensors; and the most states of such a rule in a unit, or `none`.
  static constexpr std::size_t none = ~std::size_t{0};
  static constexpr auto sees_whole = []<class... Rules>(boost::mp11::mp_list<Rules...>) {
    return std::array{regimen::detail::sees_whole_tensors<Rules>...};
  }(typename Groups::Rules{});
  template <class Unit>
  static constexpr std::size_t whole_states = [] {
    std::size_t most = none;
    for (const walk::TensorPlace& tensor : Unit::tensors)
      if (tensor.trains && sees_whole[tensor.group] && (most == none || tensor.states > most)) most = tensor.states;
    return most;
  }();
  /// Whether a unit has elements that are updated one by one.
  template <class Unit>
  static constexpr bool has_elements = [] {
    for (const walk::TensorPlace& tensor : Unit::tensors)
      if (tensor.trains && !sees_whole[tensor.group]) return true;
    return false;
  }();

  template <class Unit>
  static constexpr void update_unit(auto& walk, const Resident& r, walk::UnitOffsets at, const Inputs& given,
                                    [[maybe_unused]] const LayerPath& path) {
    if constexpr (Groups::count == 1) update_group<Unit, 0>(walk, r, at, given);
    else
      [&]<std::size_t... group>(std::index_sequence<group...>) {
        (update_group<Unit, group>(walk, r, at, given), ...);
      }(std::make_index_sequence<Groups::count>{});
    if constexpr (whole_states<Unit> != none) {
      if constexpr (Sharding::slices_state)
        if (walk.ranks > 1) return update_gathered<Unit>(walk, r, at, given, path);
      const std::size_t values = r.parameters + at.parameters;
      update_tensors<Unit>(walk, given, path,
                           {.master = values + Unit::master_offset(walk.ranks),
                            .gradient = r.gradients + at.gradients,
                            .state = r.states + at.states,
                            .values = Unit::shares_master ? walk::absent : values,
                            .state_stride = Unit::layout.trained});
    }
  }

 private:
  /// The tensors of a group whose rule is elementwise.
  template <class Unit, std::size_t group>
  static constexpr void update_group(auto& walk, const Resident& r, walk::UnitOffsets at, const Inputs& given) {
    if constexpr (!sees_whole[group])
      [&]<std::size_t... piece>(std::index_sequence<piece...>) {
        if constexpr (Sharding::slices_state)
          if (walk.ranks > 1) return (update_slice<Unit, group, piece>(walk, r, at, given), ...);
        (update_piece<Unit, group, piece>(walk, r, at, given), ...);
      }(std::make_index_sequence<Pieces<Unit, group>::count>{});
  }
  /// The elements of a piece that one update changes.
  struct Elements {
    View<Master> master, state;
    View<Reduce> gradient;
    std::size_t count, state_stride, first = 0;  // first   of the piece
  };
  /// Inlined also without optimisation: each unit would have its own copy.   values   where the copy begins
  template <class Unit, std::size_t group, std::size_t piece>
  [[gnu::always_inline]] static constexpr void update_elements(auto& walk, const Inputs& given,
                                                               const Elements& elements, std::size_t values) {
    using T =
        std::conditional_t<Unit::shares_master, Master, element_t<Pieces<Unit, group>::template first<piece>.element>>;
    walk.run(op::Update<RuleOf<group>, Master, T, Reduce>{.master = elements.master,
                                                          .state = elements.state,
                                                          .copy = Unit::shares_master ? View<T>{} : View<T>{values},
                                                          .gradient = elements.gradient,
                                                          .scalars = given.scalars + group,
                                                          .segments = Pieces<Unit, group>::template segments<piece>,
                                                          .count = elements.count,
                                                          .state_stride = elements.state_stride,
                                                          .options = Groups::template options<group>(given.options),
                                                          .first = elements.first});
  }
  template <std::size_t group>
  static constexpr View<Master> state_at(std::size_t offset) {
    return RuleOf<group>::states == 0 ? View<Master>{} : View<Master>{offset};
  }

  template <class Unit, std::size_t group, std::size_t piece>
  static constexpr void update_piece(auto& walk, const Resident& r, walk::UnitOffsets at, const Inputs& given) {
    constexpr walk::TensorPlace first = Pieces<Unit, group>::template first<piece>;
    const std::size_t parameters = r.parameters + at.parameters;
    const Elements elements{.master = {parameters + Unit::master_offset(walk.ranks) + first.master * sizeof(Master)},
                            .state = state_at<group>(r.states + at.states + first.gradient * sizeof(Master)),
                            .gradient = {r.gradients + at.gradients + first.gradient * sizeof(Reduce)},
                            .count = Pieces<Unit, group>::template elements<piece>,
                            .state_stride = Unit::layout.trained};
    update_elements<Unit, group, piece>(walk, given, elements, parameters + first.values);
  }

  /// Where the arrays of a unit begin that are whole on this rank.   values   the copy that kernels read; or absent
  struct WholeUnit {
    std::size_t master, gradient, state, values = walk::absent, state_stride = 0;
  };
  template <class Unit, std::size_t index>
  static constexpr void update_tensor(auto& walk, const Inputs& given, const LayerPath& path, const WholeUnit& unit) {
    constexpr walk::TensorPlace tensor = Unit::tensors[index];
    constexpr std::size_t group = tensor.group;
    if constexpr (tensor.trains && sees_whole[group]) {
      using T = std::conditional_t<Unit::shares_master, Master, element_t<tensor.element>>;
      update_whole_tensor(walk,
                          op::UpdateTensor<RuleOf<group>, Master, T, Reduce>{
                              .master = {unit.master + tensor.master * sizeof(Master)},
                              .state = state_at<group>(unit.state + tensor.gradient * sizeof(Master)),
                              .copy = unit.values == walk::absent ? View<T>{} : View<T>{unit.values + tensor.values},
                              .gradient = {unit.gradient + tensor.gradient * sizeof(Reduce)},
                              .scalars = given.scalars + group,
                              .rows = tensor.rows,
                              .columns = tensor.count / tensor.rows,
                              .state_stride = unit.state_stride,
                              .decays = tensor.decays,
                              .options = Groups::template options<group>(given.options)},
                          path);
    }
  }
  template <class Unit>
  static constexpr void update_tensors(auto& walk, const Inputs& given, const LayerPath& path, const WholeUnit& unit) {
    [&]<std::size_t... tensor>(std::index_sequence<tensor...>) {
      (update_tensor<Unit, tensor>(walk, given, path, unit), ...);
    }(std::make_index_sequence<Unit::tensors.size()>{});
  }

  /// A rule of whole tensors, where ranks keep slices: they gather the unit's gradient, state and master weights,
  /// update all of it, each rank alike, and keep their slices of the results. So every Shard has the bits of
  /// Replicated.
  /// memory  the gathered arrays, while the unit is updated. Master weights that kernels read on every rank are whole
  ///         already, except for elements that were just updated one by one; they are whole again afterwards. Other
  ///         master weights are rounded here to the copies that kernels read. So gather_values has nothing to do
  template <class Unit>
  static constexpr void update_gathered(auto& walk, const Resident& r, walk::UnitOffsets at, const Inputs& given,
                                        const LayerPath& path) {
    static_assert(Unit::is_uniform, "regimen: a unit of weights of several types cannot be cut into slices");
    using Value = element_t<Unit::tensors[0].element>;
    constexpr bool gathers_master = !Unit::shares_master || Sharding::slices_parameters;
    constexpr std::size_t states = whole_states<Unit>;
    const std::size_t slice = Unit::slice(walk.ranks), index = Sharding::slice_of(walk.rank), begin = index * slice,
                      whole = slice * Sharding::slices(walk.ranks), kept = in_slice(Unit::layout.count, slice, index),
                      values = r.parameters + at.parameters, own_master = values + Unit::master_offset(walk.ranks),
                      own_state = r.states + at.states;
    const auto take = [&](std::size_t bytes) { return walk.arena.take(bytes, MemoryKind::communication, path); };
    std::size_t ticket = no_ticket;
    const auto gather = [&](std::size_t own, std::size_t all, std::size_t element) {
      ticket = walk.all_gather(
          {.own = own, .all = all, .bytes = slice * element, .teams = Sharding::shard_group, .path = path});
    };
    WholeUnit unit{.master = gathers_master ? take(whole * sizeof(Master)) : values,
                   .gradient = take(whole * sizeof(Reduce)),
                   .state = states > 0 ? take(whole * states * sizeof(Master)) : walk::absent,
                   .state_stride = whole};
    if constexpr (gathers_master) gather(own_master, unit.master, sizeof(Master));
    else if constexpr (has_elements<Unit>) gather(values + begin * sizeof(Master), values, sizeof(Master));
    for (std::size_t s = 0; s < states; ++s)
      gather(own_state + s * slice * sizeof(Master), unit.state + s * whole * sizeof(Master), sizeof(Master));
    gather(r.gradients + at.gradients + (Sharding::slices_gradients ? 0 : begin * sizeof(Reduce)), unit.gradient,
           sizeof(Reduce));
    walk.await(ticket);  // and, by the order, all earlier ones
    update_tensors<Unit>(walk, given, path, unit);

    const auto keep = [&](std::size_t all, std::size_t own) {
      walk.run(op::Copy<Master>{{all + begin * sizeof(Master)}, {own}, kept});
    };
    if constexpr (gathers_master) keep(unit.master, own_master);
    for (std::size_t s = 0; s < states; ++s)
      keep(unit.state + s * whole * sizeof(Master), own_state + s * slice * sizeof(Master));
    if constexpr (!Unit::shares_master) {
      if constexpr (Sharding::slices_parameters) walk.run(op::Cast<Master, Value>{{own_master}, {values}, kept});
      else walk.run(op::Cast<Master, Value>{{unit.master}, {values}, Unit::layout.count});
    }
    if constexpr (states > 0) walk.arena.give(unit.state);
    walk.arena.give(unit.gradient);
    if constexpr (gathers_master) walk.arena.give(unit.master);
  }

  /// Updates this rank's slice of a piece: of the master weights, the state, and the copy that kernels read.
  template <class Unit, std::size_t group, std::size_t piece>
  static constexpr void update_slice(auto& walk, const Resident& r, walk::UnitOffsets at, const Inputs& given) {
    static_assert(Unit::is_uniform, "regimen: a unit of weights of several types cannot be cut into slices");
    using Value = element_t<Unit::tensors[0].element>;
    constexpr std::size_t first = Pieces<Unit, group>::template first<piece>.gradient;
    const std::size_t slice = Unit::slice(walk.ranks), begin = Sharding::slice_of(walk.rank) * slice,
                      parameters = r.parameters + at.parameters;
    const auto [skipped, count] = part_in_slice(first, Pieces<Unit, group>::template elements<piece>, begin, slice);
    const std::size_t offset = count > 0 ? first + skipped - begin : 0;
    const std::size_t values = parameters + (offset + (Sharding::slices_parameters ? 0 : begin)) * sizeof(Value);
    const std::size_t gradients =
                          r.gradients + at.gradients + (Sharding::slices_gradients ? 0 : begin * sizeof(Reduce)),
                      own_master = parameters + Unit::master_offset(walk.ranks) + offset * sizeof(Master);
    const Elements elements{.master = {Unit::shares_master ? values : own_master},
                            .state = state_at<group>(r.states + at.states + offset * sizeof(Master)),
                            .gradient = View<Reduce>{gradients} + offset,
                            .count = count,
                            .state_stride = slice,
                            .first = skipped};
    update_elements<Unit, group, piece>(walk, given, elements, values);
  }
};

}  // namespace regimen::programs
// SPDX-License-Identifier: Apache-2.0
