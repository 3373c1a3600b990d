// regimen/verdict/model_layers.hpp — the layers of a model, from its types alone: instantiates no Bound.
#pragma once

#include <regimen/layer/cast.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/rule/list_holds_layers.hpp>

#include <boost/mp11.hpp>

#include <cstddef>
#include <initializer_list>
#include <type_traits>

namespace regimen::train {

namespace mp = boost::mp11;

/// Whether every list in a layer has only layers, and the rules that report other types.
template <class Layer>
inline constexpr bool holds_layers = rule::list_holds_layers<Layer>::holds;
template <class... Layers>
inline constexpr bool holds_layers<mp::mp_list<Layers...>> = (holds_layers<Layers> && ...);
template <class... Layers>
inline constexpr bool holds_layers<Sequential<Layers...>> = (holds_layers<Layers> && ...);
template <class... Layers>
inline constexpr bool holds_layers<Residual<Layers...>> = (holds_layers<Layers> && ...);
template <std::size_t Count, class Block>
inline constexpr bool holds_layers<Repeat<Count, Block>> = holds_layers<Block>;
template <class T, class... Layers>
inline constexpr bool holds_layers<As<T, Layers...>> = !Number<T> || (holds_layers<Layers> && ...);  // as_takes_element_type reports a wrong T
template <class Table>
inline constexpr bool holds_layers<TiedLinear<Table>> = true;  // tied_layer_exists checks Table

template <class Layer>
struct unknown_layers_in {
  using type = mp::mp_if_c<holds_layers<Layer>, mp::mp_list<>, mp::mp_list<rule::list_holds_layers<Layer>>>;
};
template <class... Layers>
struct unknown_layers_in<mp::mp_list<Layers...>> {
  using type = mp::mp_append<mp::mp_list<>, typename unknown_layers_in<Layers>::type...>;
};
template <class... Layers>
struct unknown_layers_in<Sequential<Layers...>> : unknown_layers_in<mp::mp_list<Layers...>> {};
template <class... Layers>
struct unknown_layers_in<Residual<Layers...>> : unknown_layers_in<mp::mp_list<Layers...>> {};
template <std::size_t Count, class Block>
struct unknown_layers_in<Repeat<Count, Block>> : unknown_layers_in<Block> {};
template <class T, class... Layers>
struct unknown_layers_in<As<T, Layers...>> : unknown_layers_in<mp::mp_list<Layers...>> {};

template <class... Layers>
struct layers_in {
  using type = mp::mp_append<mp::mp_list<>, typename layers_in<Layers>::type...>;
};
template <class Layer>
struct layers_in<Layer> {
  using type = mp::mp_list<Layer>;
};
template <class... Layers>
struct layers_in<mp::mp_list<Layers...>> {
  using type = mp::mp_append<mp::mp_list<>, typename layers_in<Layers>::type...>;
};
template <class... Layers>
struct layers_in<Sequential<Layers...>> : layers_in<mp::mp_list<Layers...>> {};
template <class... Layers>
struct layers_in<Residual<Layers...>> : layers_in<mp::mp_list<Layers...>> {};
template <std::size_t Count, class Block>
struct layers_in<Repeat<Count, Block>> : layers_in<Block> {};
template <class T, class... Layers>
struct layers_in<As<T, Layers...>> : layers_in<mp::mp_list<Layers...>> {};
template <class HeadCount, class... Options>
struct layers_in<SelfAttention<HeadCount, Options...>> {
  using Attention = SelfAttention<HeadCount, Options...>;
  using type = mp::mp_list<detail::LinearTimes<3>, typename Attention::Attend, detail::LinearTimes<1>>;
};

template <class Layer>
inline constexpr bool looks_ahead = false;
template <std::size_t HeadCount, class Rate>
inline constexpr bool looks_ahead<regimen::detail::Attend<HeadCount, false, Rate>> = true;
template <class... Layers>
inline constexpr bool looks_ahead<mp::mp_list<Layers...>> = (looks_ahead<Layers> || ...);

/// The element types of all As in a model.
template <class Layer>
struct as_types {
  using type = mp::mp_list<>;
};
template <class... Layers>
struct as_types<mp::mp_list<Layers...>> {
  using type = mp::mp_append<mp::mp_list<>, typename as_types<Layers>::type...>;
};
template <class... Layers>
struct as_types<Sequential<Layers...>> : as_types<mp::mp_list<Layers...>> {};
template <class... Layers>
struct as_types<Residual<Layers...>> : as_types<mp::mp_list<Layers...>> {};
template <std::size_t Count, class Block>
struct as_types<Repeat<Count, Block>> : as_types<Block> {};
template <class T, class... Layers>
struct as_types<As<T, Layers...>> {
  using type = mp::mp_push_front<typename as_types<mp::mp_list<Layers...>>::type, T>;
};
template <class InputKind_, class... Layers_>
struct Parts {
  using InputKind = InputKind_;
  using Layers = mp::mp_list<Layers_...>;
};
template <class InputKind, class... Layers>
Parts<InputKind, Layers...> parts_of(const Model<Input<InputKind>, Layers...>*);
template <class Network>
using parts_t = decltype(parts_of(static_cast<const Network*>(nullptr)));

template <class Layer>
struct repeat_depth {
  static constexpr std::size_t value = 0;
};
template <std::size_t Count, class Block>
struct repeat_depth<Repeat<Count, Block>> {
  static constexpr std::size_t value = Count > repeat_depth<Block>::value ? Count : repeat_depth<Block>::value;
};
template <class... Layers>
struct repeat_depth<mp::mp_list<Layers...>> {
  static constexpr std::size_t value = [] {
    std::size_t largest = 0;
    for (std::size_t depth : {std::size_t{0}, repeat_depth<Layers>::value...}) largest = depth > largest ? depth : largest;
    return largest;
  }();
};
template <class... Layers>
struct repeat_depth<Sequential<Layers...>> : repeat_depth<mp::mp_list<Layers...>> {};
template <class... Layers>
struct repeat_depth<Residual<Layers...>> : repeat_depth<mp::mp_list<Layers...>> {};
template <class T, class... Layers>
struct repeat_depth<As<T, Layers...>> : repeat_depth<mp::mp_list<Layers...>> {};

/// The vocabulary of the model's Embedding; 0 without one.
template <class Layer>
struct vocabulary {
  static constexpr std::size_t size = 0;
};
template <class Words, std::size_t Channels>
struct vocabulary<Embedding<Words, Channels>> {
  static constexpr std::size_t size = Words::size;
};
template <class Network>
constexpr std::size_t vocabulary_of() {
  std::size_t size = 0;
  mp::mp_for_each<mp::mp_transform<vocabulary, typename layers_in<typename parts_t<Network>::Layers>::type>>([&](auto layer) {
    if (decltype(layer)::size != 0) size = decltype(layer)::size;
  });
  return size;
}

/// The number of layers in the flattened list; As adds a cast before and one after.
template <class Layer>
inline constexpr std::size_t layer_count = 1;
template <class... Layers>
inline constexpr std::size_t layer_count<Sequential<Layers...>> = (std::size_t{0} + ... + layer_count<Layers>);
template <class T, class... Layers>
inline constexpr std::size_t layer_count<As<T, Layers...>> = 2 + layer_count<Sequential<Layers...>>;
template <class HeadCount, class... Options>
inline constexpr std::size_t layer_count<SelfAttention<HeadCount, Options...>> = 3;
template <class... Layers>
using counted = mp::mp_size_t<layer_count<Sequential<Layers...>>>;

/// How deep lists of layers nest: a Residual and a Repeat each have a list.
template <class Layer>
inline constexpr std::size_t level_count = 0;
template <class... Layers>
inline constexpr std::size_t level_count<mp::mp_list<Layers...>> = [] {
  std::size_t largest = 0;
  for (std::size_t levels : {std::size_t{0}, level_count<Layers>...}) largest = levels > largest ? levels : largest;
  return largest;
}();
template <class... Layers>
inline constexpr std::size_t level_count<Sequential<Layers...>> = level_count<mp::mp_list<Layers...>>;
template <class T, class... Layers>
inline constexpr std::size_t level_count<As<T, Layers...>> = level_count<mp::mp_list<Layers...>>;
template <class... Layers>
inline constexpr std::size_t level_count<Residual<Layers...>> = 1 + level_count<mp::mp_list<Layers...>>;
template <std::size_t Count, class Block>
inline constexpr std::size_t level_count<Repeat<Count, Block>> = 1 + level_count<Block>;

template <class Layer>
inline constexpr bool is_as = false;
template <class T, class... Layers>
inline constexpr bool is_as<As<T, Layers...>> = true;

/// The element type that As gives to this layer's output; fp32 without an As.
template <class Layer>
struct explicit_element {
  using type = fp32;
};
template <class T, class... Layers>
  requires(sizeof...(Layers) > 0)
struct explicit_element<As<T, Layers...>> {
  using Last = mp::mp_back<mp::mp_list<Layers...>>;
  using type = std::conditional_t<is_as<Last>, typename explicit_element<Last>::type, T>;
};
template <class... Layers>
  requires(sizeof...(Layers) > 0)
struct explicit_element<Sequential<Layers...>> : explicit_element<mp::mp_back<mp::mp_list<Layers...>>> {};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
