// regimen/rule/model_layers.hpp — the layers of a model, from its types alone: instantiates no Bound.
#pragma once

#include <regimen/layer/cast.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/layer/slice.hpp>
#include <regimen/rule/models.hpp>

#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::rule {

namespace mp = boost::mp11;

/// Whether every list in a layer has only layers, and the rules that report other types.
template <class Layer>
inline constexpr bool holds_layers = list_holds_layers<Layer>::holds;
template <class... Layers>
inline constexpr bool holds_layers<mp::mp_list<Layers...>> = (holds_layers<Layers> && ...);
template <Combinator Layer>
inline constexpr bool holds_layers<Layer> = holds_layers<typename children<Layer>::type>;
template <class T, class... Layers>
  requires(!ComputeType<T>)
inline constexpr bool holds_layers<As<T, Layers...>> = true;  // as_takes_element_type reports T
template <class Table>
inline constexpr bool holds_layers<TiedLinear<Table>> = true;  // tied_layer_exists checks Table

template <class Layer>
using is_known = mp::mp_bool<holds_layers<Layer>>;
template <class Layers>
using unknown_layers_in = mp::mp_transform<list_holds_layers, mp::mp_remove_if<detail::layers_in<Layers>, is_known>>;

/// Whether positions read later ones. A layer may say so itself.
template <class Layer>
inline constexpr bool looks_ahead = false;
template <class Layer>
  requires requires { Layer::looks_ahead; }
inline constexpr bool looks_ahead<Layer> = Layer::looks_ahead;
template <class Layout, class Rate>
inline constexpr bool looks_ahead<detail::Attend<Layout, false, Rate>> = true;
template <class Layout, class Rate, class Option>
inline constexpr bool looks_ahead<detail::AttendByDistance<Layout, false, Rate, Option>> = true;
template <class Attend, class Name>
inline constexpr bool looks_ahead<detail::AttendWithin<Attend, Name>> = looks_ahead<Attend>;
template <class... Layers>
inline constexpr bool looks_ahead<mp::mp_list<Layers...>> = (looks_ahead<Layers> || ...);

/// Whether every position sees all of a named value.
template <class Layer>
inline constexpr bool attends_to_named = false;
template <class Name, class Layout, detail::BiasIs bias, class Rate, class Norm>
inline constexpr bool attends_to_named<detail::AttendTo<Name, Layout, bias, Rate, Norm>> = true;
template <class Attend, class Name>
inline constexpr bool attends_to_named<detail::AttendWithin<Attend, Name>> = attends_to_named<Attend>;
template <class... Layers>
inline constexpr bool attends_to_named<mp::mp_list<Layers...>> = (attends_to_named<Layers> || ...);

/// Whether the length of this name ends the keys of an attention.
template <class Name, class Layer>
inline constexpr bool is_read_within = false;
template <class Name, class Attend>
inline constexpr bool is_read_within<Name, detail::AttendWithin<Attend, Name>> = true;
template <class Name, class... Layers>
inline constexpr bool is_read_within<Name, mp::mp_list<Layers...>> = (is_read_within<Name, Layers> || ...);

/// The token of a KeepLength whose length some attention of Readers is within; −1 of all else.
template <class Layer, class Readers>
inline constexpr std::int32_t token_that_pads = -1;
template <class Name, class End, class Readers>
inline constexpr std::int32_t token_that_pads<KeepLength<Name, End>, Readers> =
    is_read_within<Name, Readers> ? detail::padding_token<End> : -1;
template <class Readers, class... Layers>
constexpr std::int32_t padding_among(mp::mp_list<Layers...>) {
  return (std::max)({std::int32_t{-1}, token_that_pads<Layers, Readers>...});
}

/// Of the layers of a model of two texts.
///   are_apart   whether the first is an encoder that reads the one beside a decoder that reads the other, behind which
///               nothing attends to what has been kept of that other
///   is_causal   whether the decoder and what is behind it read no later positions
///   padding     the token that pads a source; −1: none, or no attention ends where it begins
template <class Layers>
struct two_texts {
  static constexpr bool are_apart = false, is_causal = true;
  static constexpr std::int32_t padding = -1;
};
template <class Encoder, class Decoder, class... Others>
struct two_texts<mp::mp_list<Fork<Last, Encoder, Decoder>, Others...>> {
 private:
  using Before = detail::layers_in<mp::mp_list<Encoder>>;
  using Behind = detail::layers_in<mp::mp_list<Decoder, Others...>>;
  template <class Layer>
  struct attends_to_own : std::false_type {};
  template <class Name, class Layout, detail::BiasIs bias, class Rate, class Norm>
  struct attends_to_own<detail::AttendTo<Name, Layout, bias, Rate, Norm>> : mp::mp_contains<Behind, Keep<Name>> {};
  template <class Attend, class Name>
  struct attends_to_own<detail::AttendWithin<Attend, Name>> : attends_to_own<Attend> {};

 public:
  static constexpr bool are_apart =
      detail::reads_part<Encoder, 0> && detail::reads_part<Decoder, 1> && !mp::mp_any_of<Behind, attends_to_own>::value;
  static constexpr bool is_causal = !looks_ahead<Behind>;
  static constexpr std::int32_t padding = padding_among<mp::mp_append<Before, Behind>>(Before{});
};

template <class Layer>
inline constexpr bool is_as = false;
template <class T, class... Layers>
inline constexpr bool is_as<As<T, Layers...>> = true;

/// The element types of all As in a model.
template <class Layer>
using names_element = mp::mp_bool<is_as<Layer>>;
template <class Layers>
using as_types = mp::mp_transform<mp::mp_first, mp::mp_copy_if<typename detail::all_in<Layers>::type, names_element>>;

template <class InputKind_, class... Layers_>
struct Parts {
  using InputKind = InputKind_;
  using Layers = mp::mp_list<Layers_...>;
};
template <class InputKind, class... Layers>
Parts<InputKind, Layers...> parts_of(const Model<Input<InputKind>, Layers...>*);
template <class Network>
using parts_t = decltype(parts_of(static_cast<const Network*>(nullptr)));

using detail::repeat_depth;

/// The vocabulary of the model's Embedding; 0 without one. Of a bundle, for each value: the largest of an Embedding
/// behind its Part.
template <class Layer>
struct vocabulary {
  static constexpr std::size_t size = 0, part = ~std::size_t{0};
};
template <class Words, std::size_t Channels, class... End>
struct vocabulary<Embedding<Words, Channels, End...>> : vocabulary<void> {
  static constexpr std::size_t size = Words::size;
};
template <std::size_t I>
struct vocabulary<Part<I>> : vocabulary<void> {
  static constexpr std::size_t part = I;
};
template <class Network>
constexpr auto vocabulary_of() {
  using In = typename parts_t<Network>::InputKind::template value<fp32>::Element;
  using Layers = mp::mp_transform<vocabulary, detail::layers_in<typename parts_t<Network>::Layers>>;
  if constexpr (detail::is_bundle<In>) {
    std::array<std::size_t, In::count> sizes{};
    std::size_t part = 0;
    mp::mp_for_each<Layers>([&]<class Found>(Found) {
      if (Found::part < In::count) part = Found::part;
      sizes[part] = (std::max)(sizes[part], Found::size);
    });
    return sizes;
  } else {
    std::size_t size = 0;
    mp::mp_for_each<Layers>([&]<class Found>(Found) {
      if (Found::size != 0) size = Found::size;
    });
    return size;
  }
}

/// Which value of the model's input a layer reads: that of the last Part before it; 0 without one.
template <class Network, class Layer>
constexpr std::size_t part_before() {
  using Layers = detail::layers_in<typename parts_t<Network>::Layers>;
  using Before = mp::mp_take_c<Layers, mp::mp_find<Layers, Layer>::value>;
  std::size_t part = 0;
  mp::mp_for_each<mp::mp_transform<vocabulary, Before>>([&]<class Found>(Found) {
    if (Found::part != vocabulary<void>::part) part = Found::part;
  });
  return part;
}

/// The vocabulary of the text that a layer of a model reads, likewise: 0 without an Embedding.
template <class Network, class Layer>
constexpr std::size_t vocabulary_at() {
  constexpr auto sizes = vocabulary_of<Network>();
  if constexpr (std::is_same_v<decltype(sizes), const std::size_t>) return sizes;
  else {
    constexpr std::size_t part = part_before<Network, Layer>();
    return part < sizes.size() ? sizes[part] : 0;  // bundle_has_part refuses others
  }
}

/// Layers whose output has the numbers of their input: all, some, or, of Dropout, multiples and zeros.
template <class Layer>
struct keeps_numbers : mp::mp_bool<std::is_same_v<Layer, Identity> || std::is_same_v<Layer, Flatten>> {};
template <class Name>
struct keeps_numbers<Keep<Name>> : std::true_type {};
template <class Rate>
struct keeps_numbers<Dropout<Rate>> : std::true_type {};
template <class Rate>
struct keeps_numbers<DropPath<Rate>> : std::true_type {};
template <std::size_t Begin, std::size_t Count>
struct keeps_numbers<Slice<Begin, Count>> : std::true_type {};
template <std::size_t axis, std::size_t Begin, std::size_t Count>
struct keeps_numbers<SliceAlong<axis, Begin, Count>> : std::true_type {};
/// The layer of a list that computes its output: the last of those that do not keep numbers; void without one.
template <class Layers, class Computing = mp::mp_remove_if<Layers, keeps_numbers>>
struct last_of_list : last_of_list<void, mp::mp_list<mp::mp_back<Computing>>> {};
template <class Layers>
struct last_of_list<Layers, mp::mp_list<>> {
  using type = void;
};
template <class Layer>
struct last_of_list<void, mp::mp_list<Layer>> {
  using type = Layer;
};
template <detail::InSequence Layer>
struct last_of_list<void, mp::mp_list<Layer>> : last_of_list<typename children<Layer>::type> {};
/// The layer that computes the output of a layer or a sequence: never a sequence itself.
template <class Layer>
using last_of = typename last_of_list<mp::mp_list<Layer>>::type;

/// The number of layers in the flattened list; As adds a cast before and one after.
template <class Layer>
inline constexpr std::size_t layer_count = 1;
template <class... Layers>
inline constexpr std::size_t layer_count<mp::mp_list<Layers...>> = (std::size_t{0} + ... + layer_count<Layers>);
template <Combinator Layer>
  requires(children<Layer>::levels == 0)
inline constexpr std::size_t layer_count<Layer> = layer_count<typename children<Layer>::type> + (is_as<Layer> ? 2 : 0);

/// How deep lists of layers nest: a Residual and a Repeat each have a list.
template <class Layer>
inline constexpr std::size_t level_count = 0;
template <class... Layers>
inline constexpr std::size_t level_count<mp::mp_list<Layers...>> = (std::max)({std::size_t{0}, level_count<Layers>...});
template <Combinator Layer>
inline constexpr std::size_t level_count<Layer> = children<Layer>::levels + level_count<typename children<Layer>::type>;

/// The element type that As gives to this layer's output: that of the innermost at its end; fp32 without an As.
template <class Layer, class Around = fp32>
struct explicit_element {
  using type = Around;
};
template <detail::InSequence Layer, class Around>
  requires(children<Layer>::levels == 0)
struct explicit_element<Layer, Around> : explicit_element<detail::last_child<Layer>, Around> {};
template <class T, class First, class... Others, class Around>
struct explicit_element<As<T, First, Others...>, Around>
    : explicit_element<detail::last_child<As<T, First, Others...>>, T> {};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
