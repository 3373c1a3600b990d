// regimen/walk/sequential.hpp — the walker of layers in sequence: where the weights of each lie, which are units, and
// the names of all; then the walk.
#pragma once

#include <regimen/walk/child.hpp>
#include <regimen/walk/unit.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace regimen::walk {

template <class... Entries, class X, class Context, bool flows, std::size_t begin, bool computed_again,
          std::size_t... each>
struct Chain<mp::mp_list<Entries...>, X, Context, flows, begin, computed_again, std::index_sequence<each...>> {
  static constexpr std::size_t count = sizeof...(Entries);
  static_assert(count > 0 && count < 256,
                "regimen: a Sequential has 1 to 255 layers; group them in Sequentials of Sequentials, or Repeat");
  template <std::size_t i>
  using Entry = mp::mp_at_c<mp::mp_list<Entries...>, i>;
  template <std::size_t i>
  using At = typename Child<i, mp::mp_list<Entries...>, X, Context, flows>::type;
  using Output = typename At<count - 1>::Output;
  using Walkers = mp::mp_list<At<each>...>;
  static constexpr bool recomputes_output = computed_again, active = At<count - 1>::active;

  // ---- places and weights

  static constexpr std::array<const char*, count> names{Entries::Layer::name...};
  template <std::size_t i>
  using UnitOf = Unit<At<i>, Context>;

  static constexpr std::array<bool, count> are_groups{is_group<typename Entries::Layer>...};
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
  static constexpr LayerPath unit_path(const LayerPath& path, std::size_t i) { return path.child(places[i], names[i]); }
  static constexpr LayerPath path_of(const LayerPath& path, std::size_t i) {
    return are_groups[i] ? path : unit_path(path, i);
  }

  static constexpr NeighbourLayouts<count> layouts{At<each>::layout...};
  static constexpr ParameterLayout layout = layouts.all;

  static constexpr void place_tensors(TensorPlace*& out, const TensorPlace& at) {
    (At<each>::place_tensors(out, at + layouts.begins[each]), ...);
  }
  [[gnu::cold]] static constexpr void name_tensors(auto&& prefix, bool ends_branch, auto& visit) {
    const auto own = name_mark(prefix);
    ((extend_name(prefix, typename Entries::Labels{}),
      At<each>::name_tensors(prefix, ends_branch && each >= first_of_last_layer && each < last_with_parameters, visit),
      cut_name(prefix, own)),
     ...);
  }

  // Where child i's units begin in the persistent regions; i = count: where they end.
  static constexpr UnitOffsets unit_offset(std::size_t i, [[maybe_unused]] std::size_t ranks) {
    if constexpr (Context::Sharding::alone) return unit_offsets_alone[i];
    else if (ranks == 1) return unit_offsets_alone[i];
    else return ranks == Context::Sharding::planned_ranks ? unit_offsets_planned[i] : unit_offsets_at(ranks)[i];
  }

  static constexpr std::size_t unit_count() { return unit_order.members; }
  /// The unit, or units, of the k-th child that has parameters.
  template <std::size_t k>
  static constexpr UnitRecord unit(std::size_t ranks, const LayerPath& path) {
    constexpr std::size_t i = unit_order.index[k];
    const UnitOffsets first = unit_offset(i, ranks);
    if constexpr (requires { At<i>::iterations; })
      return At<i>::UnitOfIteration::record(first, At<i>::iterations, unit_path(path, i), ranks);
    else return UnitOf<i>::record(first, 1, unit_path(path, i), ranks);
  }

  // ---- the walk

  /// Whether a backward, or the recomputation of the next value, reads value i.
  template <std::size_t i>
  static constexpr bool is_read() {
    bool read = false;
    if constexpr (i > 0) read = At<i - 1>::reads_output;
    if constexpr (i < count) read = read || At<i>::reads_input;
    if constexpr (i + 1 < count)
      read = read || (At<i>::recomputes_output && !are_groups[i] && is_read<i + 1>());  // a Group checks this inside
    else if constexpr (i + 1 == count) read = read || recomputes_output;
    return read;
  }
  template <std::size_t i>
  static constexpr bool is_recomputed() {
    if constexpr (i == 0) return false;
    else return At<i - 1>::recomputes_output && is_read<i>();
  }
  template <std::size_t i>
  static constexpr Place place_of() {
    return is_read<i>() && !is_recomputed<i>() ? Place::saved : Place::transient;
  }
  /// Where the output of child i goes, if that of child i + 1 goes to `next`; that of the last child goes there.
  template <std::size_t i>
  static constexpr Place place_before(Place next) {
    if constexpr (i + 1 == count) return next;
    else {
      constexpr Place own = place_of<i + 1>();
      const bool is_needless =
          own == Place::transient && At<i + 1>::is_idle(Place::nowhere) && At<i + 1>::is_idle(next);
      return is_needless ? Place::nowhere : own;
    }
  }
  /// For each place of the last child's output, those of all children: tables, so that a plan of many children takes no
  /// more steps of the compiler than they are.
  static constexpr std::array<std::array<Place, count>, place_count> output_places = [] {
    std::array<std::array<Place, count>, place_count> all{};
    for (std::size_t last = 0; last < place_count; ++last) {
      Place place = static_cast<Place>(last);
      ((all[last][count - 1 - each] = place = place_before<count - 1 - each>(place)), ...);
    }
    return all;
  }();
  /// Where the output of child i goes, if that of the last goes to `place`.
  template <std::size_t i>
  [[gnu::always_inline]] static constexpr Place output_place(Place place) {
    return output_places[static_cast<std::size_t>(place)][i];
  }
  static constexpr bool is_idle(Place place) { return (At<each>::is_idle(output_place<each>(place)) && ...); }
  static constexpr bool reads_input = is_read<0>(), reads_output = At<count - 1>::reads_output,
                        keeps_d_y = At<count - 1>::keeps_d_y;
  /// Sums are added by the last child, and to the gradient by the first.
  static constexpr bool sums_y = joins_y<Context::Epilogues::sums, At<count - 1>>,
                        sums_d_x = joins_d_x<Context::Epilogues::sums, At<0>>;
  /// Recomputed children need their weights, too. (The owner of the chain decides about the last child's output.)
  static constexpr bool reads_weights =
      ((At<each>::reads_weights || (At<each>::layout.count > 0 && each + 1 < count && is_recomputed<each + 1>())) ||
       ...);

  /// Where each child's part of the saved stack begins; the last entry is the end of the sequence's part.
  static constexpr auto floors(const auto& walk, std::size_t floor, Place place) {
    std::array<std::size_t, count + 1> result{floor};
    ((result[each + 1] = result[each] + At<each>::footprint(walk, output_place<each>(place))), ...);
    return result;
  }
  static constexpr std::size_t footprint(const auto& walk, Place place) { return floors(walk, 0, place)[count]; }

  static constexpr std::size_t forward(auto& walk, Tensor x, const WeightPlaces& weights, const LayerPath& path,
                                       const Way& way) {
    ((x = forward_of<each>(walk, x, weights, path, way)), ...);
    return x.offset;
  }

  static constexpr void retire_output(auto& walk, Place place) { At<count - 1>::retire_output(walk, place); }

  static constexpr std::size_t backward(auto& walk, const Tensor& d_y, std::size_t x, std::size_t floor,
                                        const WeightPlaces& weights, const LayerPath& path, Place place) {
    Values values{.input = x, .floors = floors(walk, floor, place), .weights = weights, .path = path, .onto = d_y.onto};
    return backward_from<count - 1>(walk, Tensor{d_y.offset, d_y.owned, count == 1 ? d_y.onto : absent}, values, place);
  }

  /// Recomputes the output of a Group.
  static constexpr std::size_t recompute(auto& walk, std::size_t x, std::size_t floor, const WeightPlaces& weights,
                                         const LayerPath& path) {
    constexpr std::size_t last = count - 1;
    Values values{.input = x, .floors = floors(walk, floor, Place::transient), .weights = weights, .path = path};
    const std::size_t input = value<last>(walk, values);
    const std::size_t y =
        At<last>::recompute(walk, input, values.floors[last], resident_of(walk, weights, last), path_of(path, last));
    for (std::size_t i = 0; i < count; ++i)
      if (values.is_ready[i]) walk.arena.give(values.recomputed[i]);
    return y;
  }

 private:
  /// Where child i's parameters and gradients are kept.
  static constexpr WeightPlaces resident_of(const auto& walk, const WeightPlaces& weights, std::size_t i) {
    if constexpr (!Context::units) {
      return layouts.weights_of(weights, i, sizeof(typename Context::Roles::reduce));
    } else {
      const UnitOffsets at = unit_offset(i, walk.ranks);
      return {weights.values + at.parameters, weights.gradients + at.gradients, weights.add,
              layout.buffer_bytes > 0 ? weights.buffers + layouts.begins[i].buffer : absent};
    }
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
  /// One past the last child with parameters; 0 if none.
  static constexpr std::size_t last_with_parameters =
      unit_order.members > 0 ? unit_order.index[unit_order.members - 1] + 1 : 0;
  /// The child where that layer begins: its bias may be a child of its own.
  static constexpr std::size_t first_of_last_layer = [] {
    std::size_t first = last_with_parameters;
    if (first > 0) --first;
    const bool begins_before = ((each == first && has_bias_of_layer_before<typename Entries::Layer>) || ...);
    if (begins_before) --first;
    return first;
  }();

  // Among the model's own children each child is a unit, except a Repeat, whose iterations are units.
  template <std::size_t i>
  static constexpr bool is_unit = Context::units && !is_repeat<typename Entry<i>::Layer> && At<i>::layout.count > 0;
  template <std::size_t i>
  static constexpr bool holds_units = Context::units && is_repeat<typename Entry<i>::Layer> && At<i>::layout.count > 0;

  // ---- the order in which units are used, for prefetching

  /// The first unit of child i or of a later child.
  template <std::size_t i>
  static constexpr NextUnit first_from(const auto& walk, const WeightPlaces& weights, const LayerPath& path) {
    if constexpr (i >= count) return {};
    else if constexpr (is_unit<i>)
      return unit_at<UnitOf<i>>(walk, resident_of(walk, weights, i).values, unit_path(path, i));
    else if constexpr (holds_units<i>) return At<i>::unit(walk, resident_of(walk, weights, i), 0, unit_path(path, i));
    else return first_from<i + 1>(walk, weights, path);
  }
  /// The first unit of a backward that begins with child i.
  template <std::size_t i>
  static constexpr NextUnit last_from(const auto& walk, const WeightPlaces& weights, const LayerPath& path) {
    constexpr bool goes_on = i > 0 && At<i>::active;
    if constexpr (is_unit<i> && At<i>::active && At<i>::reads_weights)
      return unit_at<UnitOf<i>>(walk, resident_of(walk, weights, i).values, unit_path(path, i));
    else if constexpr (holds_units<i> && At<i>::active)
      return At<i>::first_of_backward(walk, resident_of(walk, weights, i), unit_path(path, i));
    else if constexpr (goes_on) return last_from<i - 1>(walk, weights, path);
    else return {};
  }
  /// The unit after child i in forward; after the last child, the first unit of backward, if backward follows.
  template <std::size_t i>
  static constexpr NextUnit behind(const auto& walk, const WeightPlaces& weights, const LayerPath& path, Mode mode) {
    const NextUnit next = first_from<i + 1>(walk, weights, path);
    return mode == Mode::save && next.is_absent() ? last_from<count - 1>(walk, weights, path) : next;
  }
  static constexpr bool slices_parameters = Context::units && Context::Sharding::slices_parameters;

  template <std::size_t i>
  static constexpr WeightPlaces enter(auto& walk, const WeightPlaces& weights, const LayerPath& path,
                                      const NextUnit& next) {
    const WeightPlaces resident = resident_of(walk, weights, i);
    if constexpr (is_unit<i>) return gather<UnitOf<i>>(walk, resident, unit_path(path, i), next);
    if constexpr (holds_units<i>) walk.after = next;
    return resident;
  }
  template <std::size_t i>
  static constexpr void leave(auto& walk, const WeightPlaces& weights, const WeightPlaces& own, const NextUnit& next) {
    if constexpr (is_unit<i>) release<UnitOf<i>>(walk, resident_of(walk, weights, i), own, next);
  }

  /// Child i; its output is the input of the next.
  template <std::size_t i>
  static constexpr Tensor forward_of(auto& walk, const Tensor& x, const WeightPlaces& weights, const LayerPath& path,
                                     const Way& way) {
    const Way here{way.mode, i + 1 < count && way.mode == Mode::discard ? Place::transient : output_place<i>(way.place),
                   i + 1 < count ? absent : way.onto};
    std::size_t y = absent;
    if constexpr (slices_parameters) {
      const NextUnit next = behind<i>(walk, weights, path, way.mode);
      const WeightPlaces own = enter<i>(walk, weights, path, next);
      y = At<i>::forward(walk, x, own, path_of(path, i), here);
      leave<i>(walk, weights, own, next);
    } else {
      y = At<i>::forward(walk, x, resident_of(walk, weights, i), path_of(path, i), here);
    }
    return {y, here.place == Place::transient};
  }

  struct Values {
    std::size_t input;
    std::array<std::size_t, count + 1> floors;
    WeightPlaces weights;
    LayerPath path;
    std::size_t onto = absent;
    std::array<std::size_t, count> recomputed{};
    std::array<bool, count> is_ready{};
  };
  template <std::size_t i>
  static constexpr std::size_t value(auto& walk, Values& values) {
    if constexpr (i == 0) return values.input;
    else if constexpr (!is_recomputed<i>()) return just_below<typename At<i - 1>::Output>(walk, values.floors[i]);
    else {
      if (!values.is_ready[i]) {
        const std::size_t input = value<i - 1>(walk, values);
        WeightPlaces own = resident_of(walk, values.weights, i - 1);
        if constexpr (slices_parameters) own = enter<i - 1>(walk, values.weights, values.path, {});
        values.recomputed[i] =
            At<i - 1>::recompute(walk, input, values.floors[i - 1], own, path_of(values.path, i - 1));
        if constexpr (slices_parameters) leave<i - 1>(walk, values.weights, own, {});
        values.is_ready[i] = true;
      }
      return values.recomputed[i];
    }
  }
  template <std::size_t i>
  static constexpr std::size_t backward_of(auto& walk, const Tensor& d_y, std::size_t x, Values& values, Place here) {
    const WeightPlaces resident = resident_of(walk, values.weights, i);
    WeightPlaces own = resident;
    [[maybe_unused]] NextUnit next{};
    constexpr bool gathers = slices_parameters && (!is_unit<i> || At<i>::reads_weights);
    if constexpr (slices_parameters && i > 0) next = last_from<i - 1>(walk, values.weights, values.path);
    if constexpr (gathers) own = enter<i>(walk, values.weights, values.path, next);
    else if (slices_parameters && walk.ranks > 1) own.values = absent;
    if constexpr (is_unit<i>) own = open_gradients<UnitOf<i>>(walk, own, unit_path(values.path, i));
    const std::size_t d_x = At<i>::backward(walk, d_y, x, values.floors[i], own, path_of(values.path, i), here);
    if constexpr (is_unit<i>) reduce<UnitOf<i>>(walk, resident, own, unit_path(values.path, i));
    if constexpr (gathers) leave<i>(walk, values.weights, own, next);
    return d_x;
  }
  template <std::size_t i>
  static constexpr std::size_t backward_from(auto& walk, const Tensor& d_y, Values& values, Place place) {
    if constexpr (!At<i>::active) {  // no child before trains either
      if (d_y.owned && d_y.offset != absent) walk.arena.give(d_y.offset);
      walk.arena.pop_to(values.floors[0]);
      return absent;
    } else {
      const Place here = output_place<i>(place);
      if constexpr (i + 1 < count) At<i>::retire_output(walk, here);
      std::size_t x = absent;
      if constexpr (At<i>::reads_input) x = value<i>(walk, values);
      const std::size_t d_x = backward_of<i>(walk, d_y, x, values, here);
      if (values.is_ready[i]) walk.arena.give(values.recomputed[i]);
      if constexpr (i == 0) return d_x;
      else return backward_from<i - 1>(walk, Tensor{d_x, true, i == 1 ? values.onto : absent}, values, place);
    }
  }
};

template <std::size_t place, GroupIs kind, class Entries, class X, class Context, bool flows>
struct Node<Group<place, kind, Entries>, X, Context, flows>
    : Chain<Entries, X, Context, flows, place, kind == GroupIs::unit_computed_again> {};

/// The layers of a Checkpointed are walked again in backward, from its input.
template <std::size_t place, class Entries, class X, class Context, bool flows>
struct Node<Group<place, GroupIs::checkpointed, Entries>, X, Context, flows>
    : SecondWalk<
          Chain<typename fuse<typename Context::Fusing, Entries>::type, X, context_again<Context>, flows, place>> {};

/// The layers of a list inside another layer, bound to X: the element type of their input stays.
template <class X, class Context, bool flows, class... Layers>
using Inner = Chain<typename flatten<typename Context::Fusing, typename X::Element, typename Context::Roles::computed,
                                     typename X::Element, Layers...>::type,
                    X, Context, flows>;

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
