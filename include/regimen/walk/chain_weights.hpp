// regimen/walk/chain_weights.hpp — the weights of layers in sequence: where those of each child lie, which children are
// units, and the names of all.
#pragma once

#include <regimen/walk/child.hpp>
#include <regimen/walk/unit.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace regimen::walk {

/// The children of a Chain.   begin   the index of the first in the list that paths refer to
template <class Entries, class X, class Context, bool flows, std::size_t begin, class Indices>
struct ChainWeights;
template <class... Entries, class X, class Context, bool flows, std::size_t begin, std::size_t... each>
struct ChainWeights<mp::mp_list<Entries...>, X, Context, flows, begin, std::index_sequence<each...>> {
  static constexpr std::size_t count = sizeof...(Entries);
  static constexpr std::array<const char*, count> names{Entries::Layer::name...};
  template <std::size_t i>
  using At = typename Child<i, mp::mp_list<Entries...>, X, Context, flows>::type;
  template <std::size_t i>
  using UnitOf = Unit<At<i>, Context>;

  static constexpr std::array<std::size_t, count> sizes{group_size<typename Entries::Layer>...};
  /// The index of child i in the list that paths refer to.
  static constexpr std::array<std::size_t, count> places = [] {
    constexpr std::array<std::size_t, count> widths{places_of<typename Entries::Layer>...};
    std::array<std::size_t, count> result{};
    for (std::size_t i = 0, place = begin; i < count; ++i) {
      result[i] = place;
      place += widths[i];
    }
    return result;
  }();
  static constexpr std::size_t length = (places_of<typename Entries::Layer> + ...);
  /// The child at a place.
  static constexpr std::size_t index_of(std::size_t place) {
    std::size_t i = 0;
    while (i + 1 < count && places[i + 1] <= place) ++i;
    return i;
  }
  /// The path of child i, which names its unit; and the path with which it is walked.
  static constexpr LayerPath unit_path(LayerPath path, std::size_t i) { return path.child(places[i], names[i]); }
  static constexpr LayerPath path_of(LayerPath path, std::size_t i) { return sizes[i] > 0 ? path : unit_path(path, i); }

  static constexpr NeighbourLayouts<count> layouts{At<each>::layout...};
  static constexpr ParameterLayout layout = layouts.all;

  static constexpr void place_tensors(TensorPlace*& out, TensorPlace at) {
    (At<each>::place_tensors(out, at + layouts.begins[each]), ...);
  }
  [[gnu::cold]] static constexpr void name_tensors(const auto& prefix, bool ends_branch, auto& visit) {
    (At<each>::name_tensors(name_inside(prefix, typename Entries::Labels{}),
                            ends_branch && each >= first_of_last_layer() && each < last_with_parameters(), visit),
     ...);
  }

  // Where child i's units begin in the persistent regions; i = count: where they end.
  static constexpr UnitOffsets unit_offset(std::size_t i, std::size_t ranks) {
    if (ranks == 1) return unit_offsets_alone[i];
    return ranks == Context::Sharding::planned_ranks ? unit_offsets_planned[i] : unit_offsets_at(ranks)[i];
  }

  /// Calls f.operator()<Unit>(offsets of the first, how many, path) for every child that has parameters.
  static constexpr void for_each_unit(std::size_t ranks, LayerPath path, auto&& f) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      (visit_units<unit_order.index[k]>(ranks, path, f), ...);
    }(std::make_index_sequence<unit_order.members>{});
  }

 protected:
  /// Where child i's parameters and gradients are kept.
  static constexpr WeightPlaces resident_of(const auto& walk, WeightPlaces weights, std::size_t i) {
    if constexpr (!Context::units) {
      return layouts.weights_of(weights, i, sizeof(typename Context::Roles::reduce));
    } else {
      const UnitOffsets at = unit_offset(i, walk.ranks);
      return {weights.values + at.parameters, weights.gradients + at.gradients, weights.add,
              layout.buffer_bytes > 0 ? weights.buffers + layouts.begins[i].buffer : absent};
    }
  }

 private:
  static constexpr std::size_t last_with_parameters() {  // one past the last child with parameters; 0 if none
    return unit_order.members > 0 ? unit_order.index[unit_order.members - 1] + 1 : 0;
  }
  /// The child where that layer begins: its bias may be a child of its own.
  static constexpr std::size_t first_of_last_layer() {
    std::size_t first = last_with_parameters();
    if (first > 0) --first;
    const bool begins_before = ((each == first && has_bias_of_layer_before<typename Entries::Layer>) || ...);
    if (begins_before) --first;
    return first;
  }

  template <std::size_t i>
  static constexpr UnitOffsets size_of_units(std::size_t ranks) {
    if constexpr (!Context::units) return {};
    else if constexpr (requires { At<i>::iterations; }) return At<i>::UnitOfIteration::size(ranks) * At<i>::iterations;
    else return UnitOf<i>::size(ranks);
  }
  static constexpr std::array<UnitOffsets, count + 1> unit_offsets_at(std::size_t ranks) {
    std::array<UnitOffsets, count + 1> result{};
    ((result[each + 1] = result[each] + size_of_units<each>(ranks)), ...);
    return result;
  }
  static constexpr std::array<UnitOffsets, count + 1> unit_offsets_alone = unit_offsets_at(1),
                                                      unit_offsets_planned =
                                                          unit_offsets_at(Context::Sharding::planned_ranks);

  struct UnitOrder {  // the children that have parameters
    std::array<std::size_t, count> index{};
    std::size_t members = 0;
  };
  static constexpr UnitOrder unit_order = [] {
    UnitOrder result;
    ((At<each>::layout.count > 0 ? void(result.index[result.members++] = each) : void()), ...);
    return result;
  }();
  // Two functions, since each statement counts in a plan: compilers limit them.
  template <std::size_t i>
  static constexpr void visit_units(std::size_t ranks, LayerPath path, auto& f) {
    f.template operator()<UnitOf<i>>(unit_offset(i, ranks), std::size_t{1}, unit_path(path, i));
  }
  template <std::size_t i>
    requires requires { At<i>::iterations; }
  static constexpr void visit_units(std::size_t ranks, LayerPath path, auto& f) {
    using Unit = typename At<i>::UnitOfIteration;
    f.template operator()<Unit>(unit_offset(i, ranks), At<i>::iterations, unit_path(path, i));
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
