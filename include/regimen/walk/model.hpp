// regimen/walk/model.hpp — a model bound to its policies: the outermost walker.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/padding.hpp>
#include <regimen/walk/again.hpp>
#include <regimen/walk/fork.hpp>
#include <regimen/walk/grouping.hpp>
#include <regimen/walk/repeat.hpp>
#include <regimen/walk/residual.hpp>
#include <regimen/walk/sequential.hpp>
#include <regimen/walk/shared.hpp>

namespace regimen::walk {

/// The Model<...> of a network: itself or its base.
template <class InputKind, class... Layers>
Model<Input<InputKind>, Layers...> model_of(const Model<Input<InputKind>, Layers...>*);
template <class Network>
using model_t = decltype(model_of(static_cast<const Network*>(nullptr)));

template <class InputKind, class... Layers>
mp::mp_list<Layers...> layers_of_model(const Model<Input<InputKind>, Layers...>*);
/// The layers of a network, as its Model<...> lists them.
template <class Network>
using layers_of = decltype(layers_of_model(static_cast<const Network*>(nullptr)));

/// The tables that a TiedLinear anywhere in the layers shares.
template <class Layer>
struct is_tied : std::false_type {};
template <class Table>
struct is_tied<TiedLinear<Table>> : std::true_type {};
template <class Layers>
using tied_tables = mp::mp_unique<mp::mp_transform<mp::mp_first, mp::mp_copy_if<detail::layers_in<Layers>, is_tied>>>;

/// The sets that Shared names anywhere in the layers.
template <class Layer>
using is_set = mp::mp_bool<is_shared<Layer>>;
template <class Layers>
using shared_sets = mp::mp_unique<mp::mp_copy_if<typename detail::all_in<Layers>::type, is_set>>;

/// The names of the values that a Keep anywhere in the layers keeps.
template <class Layer>
struct is_keep : std::false_type {};
template <class Name>
struct is_keep<Keep<Name>> : std::true_type {};
template <class Name, class End>
struct is_keep<KeepLength<Name, End>> : std::true_type {};
template <class Layers>
using kept_names = mp::mp_unique<mp::mp_transform<mp::mp_first, mp::mp_copy_if<detail::layers_in<Layers>, is_keep>>>;

/// What the layers of a model share.
template <class Tied_, class Named_>
struct SharedValues final {
  using Tied = Tied_;
  using Named = Named_;
};

/// What is around layers.
///   Compute   the type in which they compute     frozen   whether a Frozen is around them
template <class Compute_, bool frozen_>
struct Surroundings final {
  using Compute = Compute_;
  static constexpr bool frozen = frozen_;
};
/// What is Around the layers that use a table, or are a set: a list of all different Surroundings.
template <class Table, class Around, class Layer>
struct tied_places {
  using type = mp::mp_list<>;
};
template <class Table, class Around>
struct tied_places<Table, Around, Table> {
  using type = mp::mp_list<Around>;
};
template <class Table, class Around>
struct tied_places<Table, Around, TiedLinear<Table>> {
  using type = mp::mp_list<Around>;
};
template <class Table, class Around, class... Layers>
struct tied_places<Table, Around, mp::mp_list<Layers...>> {
  using type = mp::mp_unique<mp::mp_append<mp::mp_list<>, typename tied_places<Table, Around, Layers>::type...>>;
};
template <class Table, class Around, Combinator Layer>
struct tied_places<Table, Around, Layer>
    : tied_places<Table, Surroundings<typename Around::Compute, Around::frozen || detail::is_frozen<Layer>>,
                  typename children<Layer>::type> {};
template <class Table, class Around, class T, class... Layers>
struct tied_places<Table, Around, As<T, Layers...>>
    : tied_places<Table, Surroundings<T, Around::frozen>, mp::mp_list<Layers...>> {};
/// The same of all layers of a model. They have one compute type, and all are frozen or none: the rules
/// tied_layers_share_a_type and tied_layers_train_together refuse others.
template <class Table, class Compute, class Layers>
using tied_places_t = typename tied_places<Table, Surroundings<Compute, false>, Layers>::type;
template <class Around>
using compute_around = typename Around::Compute;
template <class Around>
using is_frozen_around = mp::mp_bool<Around::frozen>;
template <class Table, class Compute, class Layers>
inline constexpr bool have_one_compute =
    mp::mp_size<mp::mp_unique<mp::mp_transform<compute_around, tied_places_t<Table, Compute, Layers>>>>::value <= 1;
template <class Table, class Compute, class Layers>
inline constexpr bool train_together =
    mp::mp_size<mp::mp_unique<mp::mp_transform<is_frozen_around, tied_places_t<Table, Compute, Layers>>>>::value <= 1;

/// The network as it is walked. Facts: of the policies, as ContextOf lists them.
template <class Network, class Facts>
struct BoundModel {
 private:
  template <class InputKind, class... Layers>
  struct parts {
    using Roles = typename Facts::Roles;
    using X = typename InputKind::template value<typename Roles::statistic>;
    using Tied = mp::mp_append<tied_tables<mp::mp_list<Layers...>>, shared_sets<mp::mp_list<Layers...>>>;
    static_assert(mp::mp_size<Tied>::value <= tied_limit,
                  "regimen: a model has at most 16 tied tables and sets of Shared; share fewer");
    using Named = kept_names<mp::mp_list<Layers...>>;
    static_assert(mp::mp_size<Named>::value <= named_limit, "regimen: a model keeps at most 32 values; keep fewer");
    using Ctx = ContextOf<Facts, SharedValues<Tied, Named>, typename Roles::computed, true>;
    using Entries = typename flatten<typename Ctx::Fusing, typename X::Element, typename Roles::computed,
                                     typename Roles::statistic, Layers...>::type;
    using Flat = Chain<typename padded_end<Facts::row_alignment, Entries>::type, X, Ctx, false>;
    using Body = typename Grouped<typename Facts::Sharding::Wrap, Flat, X, Ctx>::type;
    using List = mp::mp_list<Layers...>;
  };
  template <class InputKind, class... Layers>
  static parts<InputKind, Layers...> take_apart(const Model<Input<InputKind>, Layers...>*);
  using Parts = decltype(take_apart(static_cast<const Network*>(nullptr)));

 public:
  using Roles = typename Facts::Roles;
  using X = typename Parts::X;
  using Tied = typename Parts::Tied;
  using Named = typename Parts::Named;
  using Ctx = typename Parts::Ctx;
  using Flat = typename Parts::Flat;  // all children; paths and names refer to these
  using Body = typename Parts::Body;  // the walked children: several may be one unit
  using Output = typename Body::Output;
  static constexpr LayerPath path{};
  static constexpr std::size_t tied_count = mp::mp_size<Tied>::value;
  static constexpr bool has_sets = mp::mp_any_of<Tied, is_set>::value;

  /// The walkers of all places of a set.
  template <class Set>
  using PlacesOf = places_of_set<Set, typename shared_places<Flat>::type>;

 private:
  template <class Table, bool is_set>
  struct table_unit {
    using Around = mp::mp_front<tied_places_t<Table, typename Roles::computed, typename Parts::List>>;
    using Labels = mp::mp_if_c<Around::frozen, mp::mp_list<InFrozen<false>>, mp::mp_list<>>;
    using Inside =
        typename context_behind<typename Ctx::inner::template with_compute<typename Around::Compute>, Labels>::type;
    using type = Unit<TiedTable<Node<Table, Value<std::int32_t, Shape<1>>, Inside, false>>, Ctx>;
  };
  template <class Set>
  struct table_unit<Set, true> {
    using type = Unit<SharedSet<mp::mp_front<PlacesOf<Set>>>, Ctx>;
  };

 public:
  /// The unit of a tied table, or of a set.
  template <class Table>
  using TableUnit = typename table_unit<Table, is_shared<Table>>::type;

  /// Bytes of the persistent regions: the children's units, then the tied tables, then the sets.
  static constexpr UnitOffsets size(std::size_t ranks) {
    UnitOffsets sum = Body::unit_offset(Body::count, ranks);
    if constexpr (tied_count > 0)
      mp::mp_for_each<mp::mp_transform<mp::mp_identity, Tied>>(
          [&](auto table) { sum = sum + TableUnit<typename decltype(table)::type>::size(ranks); });
    return sum;
  }
  static constexpr ParameterLayout layout = [] {
    ParameterLayout sum = Body::layout;
    mp::mp_for_each<mp::mp_transform<mp::mp_identity, Tied>>(
        [&](auto table) { sum.append(TableUnit<typename decltype(table)::type>::layout); });
    return sum;
  }();

  /// Bytes of gaps between parameters, in all buffers of all units, before ranks share them.
  static constexpr std::size_t gap_bytes() {
    std::size_t sum = 0;
    if constexpr (layout.gaps > 0)
      for_each_unit(1, [&]<class Unit>(UnitOffsets, std::size_t count, LayerPath) { sum += Unit::gap_bytes * count; });
    return sum;
  }

  /// Calls f.operator()<Unit>(offsets of the first, how many, path): children first, tied tables last.
  static constexpr void for_each_unit(std::size_t ranks, auto&& f) {
    Body::for_each_unit(ranks, path, f);
    for_each_table(ranks, [&]<class Unit>(UnitOffsets at, std::size_t, LayerPath table) {
      if constexpr (Unit::layout.count > 0) f.template operator()<Unit>(at, std::size_t{1}, table);
    });
  }

  /// Calls visit(name, parameter, whether it ends a residual branch) in the order of the units' tensors, and
  /// visit(name, buffer) in that of the buffers. A tied table has the name of the layer that owns it, a set that of its
  /// first place.
  [[gnu::cold]] static void name_tensors(auto&& visit) {
    Body::name_tensors(std::string(), false, visit);
    FirstNames first;
    if constexpr (has_sets) Body::name_tensors(std::string(), false, first);
    [[maybe_unused]] std::size_t index = 0;
    if constexpr (tied_count > 0)
      mp::mp_for_each<mp::mp_transform<mp::mp_identity, Tied>>([&](auto table) {
        using Table = typename decltype(table)::type;
        if constexpr (is_shared<Table>) TableUnit<Table>::Node::name_tensors(first.names[index], visit);
        else TableUnit<Table>::Node::name_tensors(name_of_table<Table>(index), visit);
        ++index;
      });
  }

  /// The same in constant expressions. Names are TensorPaths, which tell layers apart.
  static constexpr void list_tensors(auto& visit) {
    Body::name_tensors(TensorPath{}, false, visit);
    std::size_t index = 0;
    mp::mp_for_each<mp::mp_transform<mp::mp_identity, Tied>>([&](auto table) {
      TableUnit<typename decltype(table)::type>::Node::name_tensors(TensorPath{++index, 0}, visit);
    });
  }

  /// Before forward: gathers tied tables and sets that are kept in slices, and gives their places to their layers; with
  /// gradients, also the places of these. Its memory lies on the saved stack until the end of backward.
  static constexpr void enter_tied(auto& walk, WeightPlaces base, bool with_gradients) {
    [[maybe_unused]] std::size_t buffers = base.buffers + Body::layout.buffer_bytes;
    for_each_table(walk.ranks, [&]<class Unit>(UnitOffsets at, std::size_t index, LayerPath table) {
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
        walk.await(walk.all_gather({.own = kept,
                                    .all = tied.values,
                                    .bytes = Unit::values_slice_bytes(walk.ranks),
                                    .teams = Unit::Sharding::shard_group,
                                    .path = table}));
      }
      if constexpr (Unit::layout.trained > 0 && Unit::Sharding::reduces_each) {
        if (!with_gradients) return;
        tied.gradients = walk.arena.push(Unit::whole_gradient_bytes(walk.ranks), MemoryKind::gradient, table);
        clear_gaps<Unit>(walk, tied.gradients);
        tied.add = false;
      }
    });
  }
  /// Bytes that enter_tied allocates.
  static constexpr std::size_t tied_bytes(std::size_t ranks, bool with_gradients) {
    std::size_t sum = 0;
    for_each_table(ranks, [&]<class Unit>(UnitOffsets, std::size_t, LayerPath) {
      if (ranks == 1 || Unit::layout.count == 0) return;
      if constexpr (Unit::Sharding::slices_parameters) sum += TensorArena::align(Unit::gathered_bytes(ranks));
      if constexpr (Unit::layout.trained > 0 && Unit::Sharding::reduces_each)
        sum += with_gradients ? Unit::whole_gradient_bytes(ranks) : 0;
    });
    return sum;
  }
  /// Before forward: memory for the values with names, and for their gradients, on the saved stack above the tied tables.
  static constexpr void enter_named(auto& walk, bool with_gradients) {
    for_each_name(walk, [&]<class V>(NamedTensor& named, std::size_t bytes, LayerPath place, V*) {
      named.value = walk.arena.push(bytes, MemoryKind::saved, place);
      if (Number<typename V::Element> && with_gradients)
        named.gradient = walk.arena.push(bytes, MemoryKind::saved, place);
    });
  }
  /// Bytes that enter_named allocates with gradients.
  static constexpr std::size_t named_bytes([[maybe_unused]] const auto& walk) {
    std::size_t sum = 0;
    if constexpr (mp::mp_size<Named>::value > 0)
      mp::mp_for_each<mp::mp_transform<mp::mp_identity, Named>>([&](auto name) {
        using V = NamedAs<typename decltype(name)::type>;
        sum += (Number<typename V::Element> ? 2 : 1) * bytes_of<V>(walk);
      });
    return sum;
  }
  /// Before backward: all who read a value add to its gradient.
  static constexpr void clear_named_gradients(auto& walk) {
    for_each_name(walk, [&]<class V>(NamedTensor& named, std::size_t, LayerPath, V*) {
      if constexpr (Number<typename V::Element>)
        walk.run(op::Zero<typename V::Element>{{named.gradient}, walk.batch * V::size});
    });
  }
  /// After backward: the tables' gradients are complete; reduces them over all ranks.
  static constexpr void reduce_tied(auto& walk, WeightPlaces base) {
    for_each_table(walk.ranks, [&]<class Unit>(UnitOffsets at, std::size_t index, LayerPath table) {
      reduce<Unit>(walk, {base.values + at.parameters, base.gradients + at.gradients, base.add}, walk.tied[index],
                   table, true);
    });
  }

 private:
  template <class Name>
  struct named_as {
    using type = Value<typename Roles::compute, typename Name::Shape>;
  };
  template <class Name>
    requires(detail::positions_of<Name> > 0)
  struct named_as<Name> {
    using type = Value<std::int32_t, Shape<1>>;
  };
  template <class Name>
  using NamedAs = typename named_as<Name>::type;
  /// Calls f(where the value lies, bytes of it, path, a null pointer of its type).
  static constexpr void for_each_name([[maybe_unused]] auto& walk, [[maybe_unused]] auto&& f) {
    if constexpr (mp::mp_size<Named>::value > 0) {
      std::size_t index = 0;
      mp::mp_for_each<mp::mp_transform<mp::mp_identity, Named>>([&](auto name) {
        using V = NamedAs<typename decltype(name)::type>;
        f(walk.named[index], bytes_of<V>(walk), path.child(Flat::length + tied_count + index, "named"),
          static_cast<V*>(nullptr));
        ++index;
      });
    }
  }
  /// Calls f.operator()<Unit>(offset, index among the tables, path).
  [[gnu::always_inline]] static constexpr void for_each_table([[maybe_unused]] std::size_t ranks,
                                                              [[maybe_unused]] auto&& f) {
    if constexpr (tied_count > 0) visit_tables(ranks, f);
  }
  static constexpr void visit_tables(std::size_t ranks, auto& f) {
    UnitOffsets at = Body::unit_offset(Body::count, ranks);
    std::size_t index = 0;
    mp::mp_for_each<mp::mp_transform<mp::mp_identity, Tied>>([&](auto table) {
      using Table = typename decltype(table)::type;
      f.template operator()<TableUnit<Table>>(at, index, path.child(Flat::length + index, Table::name));
      at = at + TableUnit<Table>::size(ranks);
      ++index;
    });
  }
  template <class Table>
  static std::string name_of_table(std::size_t index) {
    std::string name = "tied." + std::to_string(index) + ".";
    find_table<Table>(name, std::make_index_sequence<Flat::count>{});
    return name;
  }
  template <class Table, std::size_t... i>
  static void find_table(std::string& name, std::index_sequence<i...>) {
    (try_child<Table, i>(name), ...);
  }
  template <class Table, std::size_t i>
  static void try_child(std::string& name) {
    using Entry = typename Flat::template Entry<i>;
    if constexpr (std::is_same_v<typename Entry::Layer, Table>)
      name = name_inside(std::string(), typename Entry::Labels{});
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
