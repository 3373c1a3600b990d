// regimen/models/layers_of.hpp — the layers of a model as layers of another: a ready network in a tower, or under a new
// head.
#pragma once

#include <regimen/layer/model.hpp>
#include <regimen/models/rules.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <cstddef>

namespace regimen {

namespace detail {

template <class Input, class... Layers>
Sequential<Layers...> sequence_of(const Model<Input, Layers...>*);
template <class Network, bool = is_model<Network>>
struct model_sequence {
  using type = decltype(sequence_of(static_cast<const Network*>(nullptr)));
};
template <class Network>
struct model_sequence<Network, false> {
  static_assert(sizeof(typename rule::layers_of_takes_model<Network>::must_hold));
  using type = Sequential<>;
};

/// No layers stay none.
template <class Layers, std::size_t count = boost::mp11::mp_size<Layers>::value>
using without_last = boost::mp11::mp_take_c<Layers, (count > 0 ? count - 1 : 0)>;

}  // namespace detail

/// The layers in the list of a Model<...>, as one Sequential.
///
///   Network   a Model<...>, or a struct that derives from one
///
/// LayersOf<...> is written in a list of layers. It has no Input: the new model writes its own.
template <class Network>
using LayersOf = typename detail::model_sequence<Network>::type;

/// The layers of a model without the last layer, as one layer. In the networks of models/ the last layer makes the
/// logits.
///
///   struct Mine : Model<Input<Image<32, 32, 3>>,
///                       EncoderOf<ResNet18<Image<32, 32, 3>, 10, resnet::CifarStem>>, Linear<5>> {};
///   Tower<Image<224, 224, 3>, EncoderOf<VitBase16>>
template <class Network>
using EncoderOf = detail::without_last<typename detail::model_sequence<Network>::type>;

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
