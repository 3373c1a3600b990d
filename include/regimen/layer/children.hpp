// regimen/layer/children.hpp — the children of a combinator, for all code that recurses over the type of a model.
#pragma once

#include <regimen/layer/model.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <algorithm>
#include <cstddef>

namespace regimen {

/// The children of a layer. For a single layer children has no members; for a combinator it has
///
///   type             the list of the children
///   levels           1: the combinator is one layer of the model, with its children inside it. 0: its children take
///                    its place in the list of layers around it
///   with<Others...>  the combinator with other children
///   output<X, Outputs...>  for your own combinator with levels 1: its output for an input X, a Value, from the outputs
///                          of its children
///   in_sequence      optional; true: the first child reads the combinator's input, each other child reads the output
///                    of the child before it, and the last child's output is the combinator's
///
/// Your own combinator is a struct with a name, this specialisation, and a walker, walk::Node:
///
///   template <class A, class B>
///   struct regimen::children<Sum<A, B>> : regimen::Branches<A, B> {
///     template <class... Others>
///     using with = Sum<Others...>;
///   };
template <class Layer>
struct children {};

/// Children that all read the combinator's input, and have outputs of one shape.
template <class... Layers>
struct Branches {
  using type = boost::mp11::mp_list<Layers...>;
  static constexpr std::size_t levels = 1;
  template <class X, class First, class... Others>
  using output = First;
};

/// Children in sequence.
template <std::size_t levels_, class... Layers>
struct ChildrenInSequence {
  using type = boost::mp11::mp_list<Layers...>;
  static constexpr std::size_t levels = levels_;
  static constexpr bool in_sequence = true;
};
/// The children of a combinator whose parameters are its layers.
template <template <class...> class Whole, class... Layers>
struct LayersInSequence : ChildrenInSequence<0, Layers...> {
  template <class... Others>
  using with = Whole<Others...>;
};

template <class... Layers>
struct children<Sequential<Layers...>> : LayersInSequence<Sequential, Layers...> {};
template <class... Layers>
struct children<Checkpointed<Layers...>> : LayersInSequence<Checkpointed, Layers...> {};
template <class... Layers>
struct children<Frozen<Layers...>> : LayersInSequence<Frozen, Layers...> {};
template <class... Layers>
struct children<Frozen<KeepStatistics, Layers...>> : ChildrenInSequence<0, Layers...> {
  template <class... Others>
  using with = Frozen<KeepStatistics, Others...>;
};
template <class T, class... Layers>
struct children<As<T, Layers...>> : ChildrenInSequence<0, Layers...> {
  template <class... Others>
  using with = As<T, Others...>;
};
template <class... Layers>
struct children<Residual<Layers...>> {
  using type = boost::mp11::mp_list<Layers...>;
  static constexpr std::size_t levels = 1;
  template <class... Others>
  using with = Residual<Others...>;
};
template <class Name, class... Layers>
struct children<Shared<Name, Layers...>> : ChildrenInSequence<1, Layers...> {
  template <class... Others>
  using with = Shared<Name, Others...>;
};
/// The layers of all branches are one list, in the order of the branches.
template <class Join, class... Layers>
struct children<Fork<Join, Layers...>> {
  using type = boost::mp11::mp_list<Layers...>;
  static constexpr std::size_t levels = 1;
  template <class... Others>
  using with = Fork<Join, Others...>;
};
template <std::size_t Count, class Block>
struct children<Repeat<Count, Block>> : ChildrenInSequence<1, Block> {
  template <class... Others>
  using with = Repeat<Count, Others...>;
};

template <class Layer>
concept Combinator = requires { children<Layer>::levels; };

namespace detail {

/// A combinator with children in sequence, at least one.
template <class Layer>
concept InSequence = Combinator<Layer> && requires { requires children<Layer>::in_sequence; } &&
                     (!boost::mp11::mp_empty<typename children<Layer>::type>::value);
/// Its first and last child.
template <class Layer>
using first_child = boost::mp11::mp_front<typename children<Layer>::type>;
template <class Layer>
using last_child = boost::mp11::mp_back<typename children<Layer>::type>;

/// A layer of several layers, or a part of such a layer: Selective and Freeze cannot name it.
template <class Layer>
inline constexpr bool is_composite = Combinator<Layer> || requires { requires Layer::is_part; };

template <class Layer>
inline constexpr bool is_frozen = false;
template <class... Layers>
inline constexpr bool is_frozen<Frozen<Layers...>> = true;
template <class Layer>
inline constexpr bool keeps_statistics = false;
template <class... Layers>
inline constexpr bool keeps_statistics<Frozen<KeepStatistics, Layers...>> = true;

/// A list of layers and all their descendants, combinators included, each before its children.
template <class Layer>
struct all_in {
  using type = boost::mp11::mp_list<Layer>;
};
template <class... Layers>
struct all_in<boost::mp11::mp_list<Layers...>> {
  using type = boost::mp11::mp_append<boost::mp11::mp_list<>, typename all_in<Layers>::type...>;
};
template <Combinator Layer>
struct all_in<Layer> {
  using type = boost::mp11::mp_push_front<typename all_in<typename children<Layer>::type>::type, Layer>;
};

template <class Layer>
using is_combinator = boost::mp11::mp_bool<Combinator<Layer>>;
/// A list of layers and all their descendants, without combinators.
template <class Layers>
using layers_in = boost::mp11::mp_remove_if<typename all_in<Layers>::type, is_combinator>;

/// The largest Count of a Repeat anywhere in the layers; 0 without one.
template <class Layer>
inline constexpr std::size_t times = 0;
template <std::size_t Count, class Block>
inline constexpr std::size_t times<Repeat<Count, Block>> = Count;
template <class... Layers>
constexpr std::size_t most_times(boost::mp11::mp_list<Layers...>) {
  return (std::max)({std::size_t{0}, times<Layers>...});
}
template <class Layers>
inline constexpr std::size_t repeat_depth = most_times(typename all_in<Layers>::type{});

}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
