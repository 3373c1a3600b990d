// regimen/walk/model.hpp — a model bound to its policies: the outermost walker.
#pragma once

#include <regimen/walk/repeat.hpp>
#include <regimen/walk/residual.hpp>
#include <regimen/walk/sequential.hpp>

namespace regimen::walk {

/// The Model that a network is, or derives from.
template <class InputKind, class... Layers>
Model<Input<InputKind>, Layers...> model_of(const Model<Input<InputKind>, Layers...>*);
template <class Network>
using model_t = decltype(model_of(static_cast<const Network*>(nullptr)));

/// The tables that a TiedLinear anywhere in the layers shares.
template <class... Layers>
struct tied_tables {
  using type = mp::mp_unique<mp::mp_append<mp::mp_list<>, typename tied_tables<Layers>::type...>>;
};
template <class Layer>
struct tied_tables<Layer> {
  using type = mp::mp_list<>;
};
template <class Table>
struct tied_tables<TiedLinear<Table>> {
  using type = mp::mp_list<Table>;
};
template <class... Layers>
struct tied_tables<Sequential<Layers...>> : tied_tables<mp::mp_list<>, Layers...> {};
template <class... Layers>
struct tied_tables<Residual<Layers...>> : tied_tables<mp::mp_list<>, Layers...> {};
template <std::size_t Count, class Block>
struct tied_tables<Repeat<Count, Block>> : tied_tables<Block> {};
template <class T, class... Layers>
struct tied_tables<As<T, Layers...>> : tied_tables<mp::mp_list<>, Layers...> {};

/// The network as it is walked.
template <class Network, class Roles_, class Checkpoint, class Freeze, std::size_t states, bool fuses>
struct BoundModel {
 private:
  template <class InputKind, class... Layers>
  struct parts {
    using Roles = Roles_;
    using X = typename InputKind::template value<typename Roles::statistic>;
    using Tied = typename tied_tables<mp::mp_list<>, Layers...>::type;
    static_assert(mp::mp_size<Tied>::value <= tied_limit, "regimen: a model has at most 4 tied tables; share fewer");
    using Ctx = ContextOf<Roles, Checkpoint, Freeze, Tied, states, fuses, true>;
    using Body =
        Chain<typename flatten<fuses, typename X::Element, typename Roles::compute, typename Roles::statistic, Layers...>::type, X, Ctx, false>;
  };
  template <class InputKind, class... Layers>
  static parts<InputKind, Layers...> take_apart(const Model<Input<InputKind>, Layers...>*);
  using Parts = decltype(take_apart(static_cast<const Network*>(nullptr)));

 public:
  using Roles = Roles_;
  using X = typename Parts::X;
  using Tied = typename Parts::Tied;
  using Ctx = typename Parts::Ctx;
  using Body = typename Parts::Body;
  using Output = typename Body::Output;
  static constexpr Path path{};
  static constexpr std::size_t tied_count = mp::mp_size<Tied>::value;

  template <class Table>
  using TableUnit = Unit<TiedTable<Node<Table, Value<std::int32_t, Shape<1>>, typename Ctx::inner, false>>, Ctx>;

  /// Bytes of the persistent regions: the children's units, then the tied tables.
  static constexpr UnitOffsets size = [] {
    UnitOffsets sum = Body::unit_offsets[Body::count];
    mp::mp_for_each<mp::mp_transform<mp::mp_identity, Tied>>([&](auto table) { sum = sum + TableUnit<typename decltype(table)::type>::size; });
    return sum;
  }();
  static constexpr ParameterLayout layout = [] {
    ParameterLayout sum = Body::layout;
    mp::mp_for_each<mp::mp_transform<mp::mp_identity, Tied>>([&](auto table) { sum.append(TableUnit<typename decltype(table)::type>::layout); });
    return sum;
  }();

  /// Calls f.operator()<Unit>(offsets of the first, how many, path): children first, tied tables last.
  static constexpr void for_each_unit(auto&& f) {
    Body::for_each_unit(path, f);
    UnitOffsets at = Body::unit_offsets[Body::count];
    std::size_t index = 0;
    mp::mp_for_each<mp::mp_transform<mp::mp_identity, Tied>>([&](auto table) {
      using Table = typename decltype(table)::type;
      f.template operator()<TableUnit<Table>>(at, std::size_t{1}, path.child(Body::count + index, Table::name));
      at = at + TableUnit<Table>::size;
      ++index;
    });
  }

  /// Calls visit(name, parameter, closes a residual branch?) in the order of the units' tensors. A tied table is named
  /// after the layer that owns it.
  static void name_tensors(auto&& visit) {
    Body::name_tensors("", false, visit);
    std::size_t index = 0;
    mp::mp_for_each<mp::mp_transform<mp::mp_identity, Tied>>([&](auto table) {
      using Table = typename decltype(table)::type;
      TableUnit<Table>::Node::name_tensors(name_of_table<Table>(index++), visit);
    });
  }

  /// Tells the engine where the tied tables lie. Their gradients are assigned anew unless this is a further micro-batch.
  static constexpr void place_tied(auto& engine, Weights base) {
    UnitOffsets at = Body::unit_offsets[Body::count];
    std::size_t index = 0;
    mp::mp_for_each<mp::mp_transform<mp::mp_identity, Tied>>([&](auto table) {
      using Unit = TableUnit<typename decltype(table)::type>;
      engine.tied[index++] = {base.values + at.parameters, base.gradients + at.gradients, base.add};
      at = at + Unit::size;
    });
  }

 private:
  template <class Table>
  static std::string name_of_table(std::size_t index) {
    std::string name = "tied." + std::to_string(index) + ".";
    find_table<Table>(name, std::make_index_sequence<Body::count>{});
    return name;
  }
  template <class Table, std::size_t... i>
  static void find_table(std::string& name, std::index_sequence<i...>) {
    (try_child<Table, i>(name), ...);
  }
  template <class Table, std::size_t i>
  static void try_child(std::string& name) {
    using Entry = typename Body::template Entry<i>;
    if constexpr (std::is_same_v<typename Entry::Layer, Table>) name = Body::template label<Entry>();
  }
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
