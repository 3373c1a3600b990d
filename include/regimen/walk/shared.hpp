// regimen/walk/shared.hpp — the walker of Shared: layers whose parameters lie where all places of a set find them.
//
// A set is the layers of all Shared<Name, ...> of a model. Its parameters are a unit of their own, as a tied table is;
// the walk knows where they lie (Walk::tied). The first backward of a place assigns the gradients, later ones add.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/walk/fork.hpp>
#include <regimen/walk/sequential.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

namespace regimen::walk {

/// The layers of a Shared at one of its places.
template <class X, class Context, bool flows, class... Layers>
using SharedBranch = typename BranchOf<0, branch_element<void, X, Context>, X, Context, flows, Layers...>::type;

template <class Name, class... Layers, class X, class Context, bool flows>
struct Node<Shared<Name, Layers...>, X, Context, flows> : SharedBranch<X, Context, flows, Layers...> {
  using Branch = SharedBranch<X, Context, flows, Layers...>;
  using Walkers = mp::mp_list<Branch>;
  static constexpr std::size_t index = mp::mp_find<typename Context::Tied, Shared<Name, Layers...>>::value;
  static constexpr ParameterLayout layout{};
  static constexpr bool reads_weights = false;

  static constexpr std::size_t forward(auto& walk, const Tensor& x, const WeightPlaces&, const LayerPath& path,
                                       const Way& way) {
    return Branch::forward(walk, x, walk.tied[index], path, way);
  }
  static constexpr std::size_t backward(auto& walk, const Tensor& d_y, std::size_t x, std::size_t floor,
                                        const WeightPlaces&, const LayerPath& path, Place place) {
    const std::size_t d_x = Branch::backward(walk, d_y, x, floor, walk.tied[index], path, place);
    if constexpr (Branch::layout.trained > 0) walk.tied[index].add = true;
    return d_x;
  }

  static constexpr void place_tensors(TensorPlace*&, const TensorPlace&) {}
  /// The parameters have no place here. A visitor may ask for the places of sets.
  static constexpr void name_tensors(auto&& prefix, bool, auto& visit) {
    if constexpr (requires { visit.found(index, prefix); }) {
      visit.found(index, prefix);
      Branch::name_tensors(prefix, false, visit);
    }
  }
};

template <class Layer>
inline constexpr bool is_shared = false;
template <class Name, class... Layers>
inline constexpr bool is_shared<Shared<Name, Layers...>> = true;

/// The walkers that a walker is made of; a layer's has none. Each child of a combinator of a program's own reads the
/// combinator's input, unless its walker has the member Walkers, a list.
template <class Walker>
struct walkers_in {
  using type = mp::mp_list<>;
};
template <class Walker>
  requires requires { typename Walker::Walkers; }
struct walkers_in<Walker> {
  using type = typename Walker::Walkers;
};
template <Combinator Layer, class X, class Context, bool flows>
  requires(!requires { typename Node<Layer, X, Context, flows>::Walkers; })
struct walkers_in<Node<Layer, X, Context, flows>> {
  template <class Child>
  using chain_of = Inner<X, Context, flows, Child>;
  using type = mp::mp_transform<chain_of, typename children<Layer>::type>;
};
template <class Walker>
using walkers_in_t = typename walkers_in<Walker>::type;

/// The walkers of the places of all sets, in the order of the walk: each before those inside of it.
template <class Walker>
struct shared_places {
  using type = typename shared_places<walkers_in_t<Walker>>::type;
};
template <class... Walkers>
struct shared_places<mp::mp_list<Walkers...>> {
  using type = mp::mp_append<mp::mp_list<>, typename shared_places<Walkers>::type...>;
};
template <class Name, class... Layers, class X, class Context, bool flows>
struct shared_places<Node<Shared<Name, Layers...>, X, Context, flows>> {
  using Walker = Node<Shared<Name, Layers...>, X, Context, flows>;
  using type = mp::mp_push_front<typename shared_places<walkers_in_t<Walker>>::type, Walker>;
};

/// The places of a set among those of all.
template <class Set>
struct place_of_set {
  template <class Place>
  struct fn : std::false_type {};
  template <class X, class Context, bool flows>
  struct fn<Node<Set, X, Context, flows>> : std::true_type {};
};
template <class Set, class Places>
using places_of_set = mp::mp_copy_if_q<Places, place_of_set<Set>>;

/// Whether two places of a set have the same parameters.
template <class A, class B>
constexpr bool has_same_parameters() {
  constexpr ParameterLayout a = A::Branch::layout, b = B::Branch::layout;
  if constexpr (a.count != b.count || a.tensors != b.tensors || a.value_bytes != b.value_bytes ||
                a.buffer_bytes != b.buffer_bytes) {
    return false;
  } else {
    std::array<TensorPlace, a.tensors + 1> of_a{}, of_b{};
    TensorPlace *out_a = of_a.data(), *out_b = of_b.data();
    A::Branch::place_tensors(out_a, {});
    B::Branch::place_tensors(out_b, {});
    for (std::size_t i = 0; i < a.tensors; ++i)
      if (of_a[i].count != of_b[i].count || of_a[i].rows != of_b[i].rows || of_a[i].values != of_b[i].values)
        return false;
    return true;
  }
}
template <class Places>
inline constexpr bool have_same_parameters = true;
template <class First, class... Others>
inline constexpr bool have_same_parameters<mp::mp_list<First, Others...>> =
    (has_same_parameters<First, Others>() && ...);

/// Remembers the names of the first places of sets.
struct FirstNames {
  std::string names[tied_limit];

  void found(std::size_t index, const std::string& name) {
    if (names[index].empty()) names[index] = name;
  }
  void operator()(const std::string&, const Parameter&, bool = false) {}
};

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
