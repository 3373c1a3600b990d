// regimen/rule/models.hpp — rules about models: what a model is a list of.
#pragma once

#include <regimen/core/rules.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/policy/policy.hpp>
#include <regimen/rule/arguments.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// Model<Linear<7>> and Model<Vector<8>, Linear<7>> do not say what a sample is.
/// docs/errors/models.md#model_begins_with_input
template <class Network>
struct model_begins_with_input {
  static constexpr bool holds = never<Network>;
  struct must_hold {
    static_assert(holds, "regimen: a model begins with its input; write Model<Input<...>, Layers...>");
  };
};

/// A Trainer holds the weights; an object of the model type has none.   docs/errors/models.md#model_is_a_type
template <class Model>
struct model_is_a_type {
  static constexpr bool holds = never<Model>;
  struct must_hold {
    static_assert(holds, "regimen: a model is a type, and a Trainer holds its weights; write Trainer<Model> trainer");
  };
};

/// A kind has a member template value<Statistic>; Input<float> has none.   docs/errors/models.md#input_takes_kind
template <class Kind>
struct input_takes_kind {
  static constexpr bool holds = requires { typename Kind::template value<float>::Shape; };
  struct must_hold {
    static_assert(
        holds,
        "regimen: Input<...> takes a sample's kind; write Tokens<T>, Vector<N>, Series<...>, Image<...> or Volume<...>");
  };
};

template <template <class, class> class>
struct binds;

/// Whether T is a layer: it has a name and a member template Bound<X, Roles>, or consists of
/// layers. Instantiates no Bound.
template <class T>
inline constexpr bool can_be_bound =
    detail::is_composite<T> ||
    (requires { static_cast<const char*>(T::name); } && (requires { typename binds<T::template Bound>; } || requires {
       typename T::template Bound<Value<float, Shape<1>>, Roles<float, float, float>>;
     }));

/// What a list holds that is no layer. Relu() among types is a function that returns Relu.
enum class ListItem { other, policy, model, input, blocks, statistics, function };
template <class T>
inline constexpr ListItem listed_as = ListItem::other;
template <Policy T>
inline constexpr ListItem listed_as<T> = ListItem::policy;
template <class T>
  requires(std::is_class_v<T> && detail::is_model<T>)
inline constexpr ListItem listed_as<T> = ListItem::model;
template <class Kind>
inline constexpr ListItem listed_as<Input<Kind>> = ListItem::input;
template <std::size_t Count, class Block, class Second, class... More>
inline constexpr ListItem listed_as<Repeat<Count, Block, Second, More...>> = ListItem::blocks;
template <>
inline constexpr ListItem listed_as<KeepStatistics> = ListItem::statistics;
template <class T>
inline constexpr ListItem listed_as<T()> = ListItem::function;

/// A user's layer is a type with a name and a member template Bound<X, Roles>.
/// docs/errors/models.md#list_holds_layers
template <class T>
struct list_holds_layers {
  static constexpr bool holds = can_be_bound<T>;
  template <ListItem as>
  static constexpr bool holds_of = holds || listed_as<T> != as;
  struct must_hold {
    static_assert(
        holds_of<ListItem::other>,
        "regimen: a list of layers holds something that is no layer; take it out (layers have a name and Bound<X, Roles>)");
    static_assert(holds_of<ListItem::policy>,
                  "regimen: a list of layers holds a policy; write it behind the model, Trainer<Model, Policies...>");
    static_assert(
        holds_of<ListItem::model>,
        "regimen: a list of layers holds a model; write its layers, LayersOf<Model>, or EncoderOf<Model>, without the head");
    static_assert(holds_of<ListItem::input>,
                  "regimen: a list of layers holds an Input; a model has one, and begins with it");
    static_assert(holds_of<ListItem::blocks>,
                  "regimen: Repeat<N, Block> repeats one block; write Repeat<N, Sequential<...>>");
    static_assert(holds_of<ListItem::statistics>,
                  "regimen: KeepStatistics stands among layers; write it first in Frozen<KeepStatistics, ...>");
    static_assert(holds_of<ListItem::function>, "regimen: a list of layers names types; leave the parentheses out");
  };
};

/// Holds: whether Option is one of Embedding's, or, of an Embedding, whether it has one at most.
/// docs/errors/models.md#embedding_takes_option
template <class Option, bool Holds>
struct embedding_takes_option {
  static constexpr bool holds = Holds;
  struct must_hold {
    static_assert(
        holds, "regimen: Embedding<Vocabulary<N>, Channels, ...> takes PaddedWith<token>, once; write no other option");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
