// regimen/walk/model.hpp — a model bound to its policies: the outermost walker.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/padding.hpp>
#include <regimen/walk/fork.hpp>
#include <regimen/walk/grouping.hpp>
#include <regimen/walk/repeat.hpp>
#include <regimen/walk/residual.hpp>
#include <regimen/walk/sequential.hpp>
#include <regimen/walk/shared.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace regimen::walk {

template <class InputKind, class... Layers>
mp::mp_list<Layers...> layers_of_model(const Model<Input<InputKind>, Layers...>*);
/// The layers of a network, as its Model<...> lists them.
template <class Network>
using layers_of = decltype(layers_of_model(static_cast<const Network*>(nullptr)));
template <class InputKind, class... Layers>
InputKind input_of_model(const Model<Input<InputKind>, Layers...>*);
/// What it reads.
template <class Network>
using input_of = decltype(input_of_model(static_cast<const Network*>(nullptr)));

/// The tables that a TiedLinear anywhere in the layers shares.
template <class Layer>
using is_tied = mp::mp_similar<Layer, TiedLinear<void>>;
template <class Layers>
using tied_tables = mp::mp_unique<mp::mp_transform<mp::mp_first, mp::mp_copy_if<detail::layers_in<Layers>, is_tied>>>;

/// The sets that Shared names anywhere in the layers.
template <class Layer>
using is_set = mp::mp_bool<is_shared<Layer>>;
template <class Layers>
using shared_sets = mp::mp_unique<mp::mp_copy_if<typename detail::all_in<Layers>::type, is_set>>;

/// The names of the values that a Keep anywhere in the layers keeps.
template <class Layer>
using is_keep = mp::mp_or<mp::mp_similar<Layer, Keep<void>>, mp::mp_similar<Layer, KeepLength<void, void>>>;
template <class Layers>
using kept_names = mp::mp_unique<mp::mp_transform<mp::mp_first, mp::mp_copy_if<detail::layers_in<Layers>, is_keep>>>;

/// What the layers of a model share.
template <class Tied_, class Named_>
struct SharedValues {
  using Tied = Tied_;
  using Named = Named_;
};

/// What is around layers.
///   Compute   the type in which they compute     frozen   whether a Frozen is around them
template <class Compute_, class Frozen_>
struct Surroundings final {
  using Compute = Compute_;
  static constexpr bool frozen = Frozen_::value;
};
/// What is Around the layers that use a table, or are a set: a list of all different Surroundings.
template <class Table, class Around, class Layer>
struct tied_places {
  static constexpr bool uses_table = std::is_same_v<Layer, Table> || std::is_same_v<Layer, TiedLinear<Table>>;
  using type = std::conditional_t<uses_table, mp::mp_list<Around>, mp::mp_list<>>;
};
template <class Table, class Around, class... Layers>
struct tied_places<Table, Around, mp::mp_list<Layers...>> {
  using type = mp::mp_unique<mp::mp_append<mp::mp_list<>, typename tied_places<Table, Around, Layers>::type...>>;
};
template <class Table, class Around, Combinator Layer>
  requires(!std::is_same_v<Layer, Table>)
struct tied_places<Table, Around, Layer>
    : tied_places<Table,
                  Surroundings<typename Around::Compute, mp::mp_bool<Around::frozen || detail::is_frozen<Layer>>>,
                  typename children<Layer>::type> {};
template <class Table, class Around, class T, class... Layers>
struct tied_places<Table, Around, As<T, Layers...>>
    : tied_places<Table, Surroundings<T, mp::mp_bool<Around::frozen>>, mp::mp_list<Layers...>> {};
/// The surroundings of all layers of a model that use a table. The rules tied_layers_share_a_type and
/// tied_layers_train_together refuse surroundings with several compute types, or with some layers frozen and some not.
template <class Table, class Compute, class Layers>
using tied_places_t = typename tied_places<Table, Surroundings<Compute, mp::mp_false>, Layers>::type;
template <class Table, class Compute, class Layers>
inline constexpr bool have_one_compute =
    mp::mp_size<mp::mp_unique<mp::mp_transform<mp::mp_first, tied_places_t<Table, Compute, Layers>>>>::value <= 1;
template <class Table, class Compute, class Layers>
inline constexpr bool train_together =
    mp::mp_size<mp::mp_unique<mp::mp_transform<mp::mp_second, tied_places_t<Table, Compute, Layers>>>>::value <= 1;

/// The network as it is walked. Facts: of the policies, as ContextOf lists them.
template <class Network, class Facts>
struct BoundModel {
  using Roles = typename Facts::Roles;
  using Layers = layers_of<Network>;
  using X = typename input_of<Network>::template value<typename Roles::statistic>;
  using Tied = mp::mp_append<tied_tables<Layers>, shared_sets<Layers>>;
  static_assert(mp::mp_size<Tied>::value <= tied_limit,
                "regimen: a model has at most 16 tied tables and sets of Shared; share fewer");
  using Named = kept_names<Layers>;
  static_assert(mp::mp_size<Named>::value <= named_limit, "regimen: a model keeps at most 32 values; keep fewer");
  using Ctx = ContextOf<Facts, SharedValues<Tied, Named>, typename Roles::computed, true>;
  using Entries = padded_end<Facts::row_alignment,
                             typename flatten<typename Ctx::Fusing, typename X::Element, typename Roles::computed,
                                              typename Roles::statistic, Layers>::type>;
  using Flat = Chain<Entries, X, Ctx, false>;  // all children; paths and names refer to these
  using Wrap = typename Facts::Sharding::Wrap;
  using Body = mp::mp_eval_if<std::is_void<Wrap>, Flat, Grouped, Wrap, Flat, X, Ctx>;  // several may be one unit
  using Output = typename Body::Output;
  static constexpr LayerPath path{};
  static constexpr std::size_t tied_count = mp::mp_size<Tied>::value, named_count = mp::mp_size<Named>::value;
  static constexpr bool has_sets = mp::mp_any_of<Tied, is_set>::value;

  /// The walkers of all places of a set.
  template <class Set>
  using PlacesOf = places_of_set<Set, typename shared_places<Flat>::type>;

 private:
  /// Calls f.operator()<T>() for the types of a list, in their order.
  template <class... Types>
  [[gnu::always_inline]] static constexpr void for_each_of(mp::mp_list<Types...>, [[maybe_unused]] auto&& f) {
    (f.template operator()<Types>(), ...);
  }
  template <class Table, bool is_set>
  struct table_unit {
    using Around = mp::mp_front<tied_places_t<Table, typename Roles::computed, Layers>>;
    using Labels = mp::mp_if_c<Around::frozen, mp::mp_list<InFrozen<false>>, mp::mp_list<>>;
    using Inside = context_behind<typename Ctx::inner::template with_compute<typename Around::Compute>, Labels>;
    using type = Unit<TiedTable<Node<Table, Value<std::int32_t, Shape<1>>, Inside, false>>, Ctx>;
  };
  template <class Set>
  struct table_unit<Set, true> {
    using type = Unit<typename mp::mp_front<PlacesOf<Set>>::Branch, Ctx>;
  };

 public:
  /// The unit of a tied table, or of a set.
  template <class Table>
  using TableUnit = typename table_unit<Table, is_shared<Table>>::type;

  /// Bytes of the persistent regions: the children's units, then the tied tables, then the sets.
  static constexpr UnitOffsets size(std::size_t ranks) {
    UnitOffsets sum = Body::unit_offset(Body::count, ranks);
    for_each_of(Tied{}, [&]<class Table>() { sum = sum + TableUnit<Table>::size(ranks); });
    return sum;
  }
  static constexpr ParameterLayout layout = [] {
    ParameterLayout sum = Body::layout;
    for_each_of(Tied{}, [&]<class Table>() { sum.append(TableUnit<Table>::layout); });
    return sum;
  }();

  /// Bytes of gaps between parameters, in all buffers of all units, before ranks share them.
  static constexpr std::size_t gap_bytes() {
    std::size_t sum = 0;
    for (const UnitRecord& unit : units(1)) sum += unit.gap_bytes * unit.count;
    return sum;
  }

  /// The units: those of children that have parameters, then those of tied tables and of sets.
  static constexpr decltype(auto) units([[maybe_unused]] std::size_t ranks) {
    if constexpr (Ctx::Sharding::alone) return (units_alone);
    else return list_units(ranks);
  }

  /// Calls visit(prefix, parameter, whether it ends a residual branch) in the order of the units' tensors, and
  /// visit(prefix, buffer) in that of the buffers. A tied table has the name of the layer that owns it, a set that of
  /// its first place.
  [[gnu::cold]] static void name_tensors(auto&& visit) {
    std::string prefix;
    Body::name_tensors(prefix, false, visit);
    if constexpr (tied_count > 0) {
      FirstNames first;
      if constexpr (has_sets) Body::name_tensors(prefix, false, first);
      std::size_t index = 0;
      for_each_of(Tied{}, [&]<class Table>() {
        prefix = is_shared<Table> ? first.names[index] : name_of_table<Table>(index);
        TableUnit<Table>::Node::name_tensors(prefix, false, visit);
        ++index;
      });
    }
  }

  /// name_tensors in constant expressions, where a prefix is a TensorPath, which tells layers apart.
  static constexpr void list_tensors(auto& visit) {
    TensorPath prefix{};
    Body::name_tensors(prefix, false, visit);
    [[maybe_unused]] std::size_t index = 0;
    for_each_of(Tied{}, [&]<class Table>() {
      prefix = {++index};
      TableUnit<Table>::Node::name_tensors(prefix, false, visit);
    });
  }

  /// Before forward: gathers tied tables and sets that are kept in slices, and gives their places to their layers; with
  /// gradients, also the places of these. Its memory lies on the saved stack until the end of backward.
  static constexpr void enter_tied(auto& walk, const WeightPlaces& base, bool with_gradients) {
    [[maybe_unused]] std::size_t buffers = base.buffers + Body::layout.buffer_bytes;
    for_each_table(walk.ranks, [&]<class Unit>(UnitOffsets at, std::size_t index, const LayerPath& table) {
      WeightPlaces& tied = walk.tied[index];
      tied = {base.values + at.parameters, base.gradients + at.gradients, base.add};
      if constexpr (Unit::layout.buffer_bytes > 0) {
        tied.buffers = buffers;
        buffers += Unit::layout.buffer_bytes;
      }
      if (walk.ranks == 1 || Unit::layout.count == 0) return;
      if constexpr (Unit::Sharding::slices_parameters) {
        const std::size_t kept = tied.values;
        tied.values =
            walk.arena.push(TensorArena::align(Unit::gathered_bytes(walk.ranks)), MemoryKind::communication, table);
        walk.await(start_all_gather<typename Unit::Sharding>(walk, unit_at<Unit>(walk, kept, table), tied.values));
      }
      if constexpr (Unit::layout.trained > 0 && Unit::Sharding::reduces_each) {
        if (!with_gradients) return;
        tied.gradients = walk.arena.push(Unit::whole_gradient_bytes(walk.ranks), MemoryKind::gradient, table);
        clear_gaps<Unit>(walk, tied.gradients);
        tied.add = false;
      }
    });
  }
  /// Before forward: memory for the values with names and for their gradients, on the saved stack above tied tables.
  static constexpr void enter_named(auto& walk, bool with_gradients) {
    for_each_name(walk, [&]<class V>(NamedTensor& named, std::size_t bytes, const LayerPath& place, V*) {
      named.value = walk.arena.push(bytes, MemoryKind::saved, place);
      if (Number<typename V::Element> && with_gradients)
        named.gradient = walk.arena.push(bytes, MemoryKind::saved, place);
    });
  }
  /// Before backward: all who read a value add to its gradient.
  static constexpr void clear_named_gradients(auto& walk) {
    for_each_name(walk, [&]<class V>(NamedTensor& named, std::size_t, const LayerPath&, V*) {
      if constexpr (Number<typename V::Element>)
        walk.run(op::Zero<typename V::Element>{{named.gradient}, walk.batch * V::size});
    });
  }
  /// After backward: the tables' gradients are complete; reduces them over all ranks.
  static constexpr void reduce_tied(auto& walk, const WeightPlaces& base) {
    for_each_table(walk.ranks, [&]<class Unit>(UnitOffsets at, std::size_t index, const LayerPath& table) {
      reduce<Unit>(walk, {base.values + at.parameters, base.gradients + at.gradients, base.add}, walk.tied[index],
                   table, true);
    });
  }

 private:
  template <class Name>
  using stored_value = Value<typename Roles::compute, typename Name::Shape>;
  template <class Name>
  using NamedAs = mp::mp_eval_if_c<(detail::positions_of<Name> > 0), Value<std::int32_t, Shape<1>>, stored_value, Name>;
  /// Calls f(where the value lies, bytes of it, path, a null pointer of its type).
  static constexpr void for_each_name([[maybe_unused]] auto& walk, [[maybe_unused]] auto&& f) {
    [[maybe_unused]] std::size_t index = 0;
    for_each_of(Named{}, [&]<class Name>() {
      using V = NamedAs<Name>;
      f(walk.named[index], bytes_of<V>(walk), path.child(Flat::length + tied_count + index, "named"),
        static_cast<V*>(nullptr));
      ++index;
    });
  }
  // (A list of numbers, and no array that is filled: behind an error elsewhere that is no constant for g++ 12.)
  static constexpr auto list_units(std::size_t ranks) {
    return list_units(ranks, std::make_index_sequence<Body::unit_count()>{}, std::make_index_sequence<tied_count>{});
  }
  template <std::size_t... child, std::size_t... table>
  static constexpr std::array<UnitRecord, sizeof...(child) + sizeof...(table)> list_units(
      [[maybe_unused]] std::size_t ranks, std::index_sequence<child...>, std::index_sequence<table...>) {
    return {{Body::template unit<child>(ranks, path)...,
             unit_of_table<table>(ranks, std::make_index_sequence<table>{})...}};
  }
  template <std::size_t index, std::size_t... before>
  static constexpr UnitRecord unit_of_table(std::size_t ranks, std::index_sequence<before...>) {
    using Table = mp::mp_at_c<Tied, index>;
    UnitOffsets at = Body::unit_offset(Body::count, ranks);
    ((at = at + TableUnit<mp::mp_at_c<Tied, before>>::size(ranks)), ...);
    return TableUnit<Table>::record(at, 1, path.child(Flat::length + index, Table::name), ranks);
  }
  static constexpr auto units_alone = list_units(1);

  /// Calls f.operator()<Unit>(offset, index among the tables, path).
  [[gnu::always_inline]] static constexpr void for_each_table([[maybe_unused]] std::size_t ranks,
                                                              [[maybe_unused]] auto&& f) {
    if constexpr (tied_count > 0) {
      UnitOffsets at = Body::unit_offset(Body::count, ranks);
      std::size_t index = 0;
      for_each_of(Tied{}, [&]<class Table>() {
        f.template operator()<TableUnit<Table>>(at, index, path.child(Flat::length + index, Table::name));
        at = at + TableUnit<Table>::size(ranks);
        ++index;
      });
    }
  }
  /// That of the last layer of the model that is the table.
  template <class Table>
  static std::string name_of_table(std::size_t index) {
    std::string name = "tied." + std::to_string(index) + ".";
    for_each_of(Entries{}, [&]<class Entry>() {
      if constexpr (std::is_same_v<typename Entry::Layer, Table>)
        name.clear(), extend_name(name, typename Entry::Labels{});
    });
    return name;
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
