// regimen/walk/list_entry.hpp — a layer to be walked: where it stands in the user's lists, and whose names it has.
#pragma once

#include <regimen/layer/activation.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/padded.hpp>
#include <regimen/walk/tensor_path.hpp>

#include <boost/mp11.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::walk {

namespace mp = boost::mp11;

/// A child's index in the user's list; names of parameters contain it.
template <std::size_t I>
struct Index final {
  [[gnu::always_inline]] static constexpr void extend(auto& name) { extend_name(name, I); }
};
/// A child with a name of its own, in place of its index.
template <class Named>
struct Label final {
  [[gnu::always_inline]] static constexpr void extend(auto& name) { extend_name(name, Named::text); }
};

/// No part of a name: the layers behind it stand in a Frozen.
template <bool keeps_statistics>
struct InFrozen final {
  static constexpr void extend(auto&) {}
};
template <class Labels>
inline constexpr bool lead_through_frozen =
    mp::mp_contains<Labels, InFrozen<false>>::value || mp::mp_contains<Labels, InFrozen<true>>::value;

/// A layer to be walked: its compute type, and the labels that lead to it from its list.
template <class Layer_, class Compute_, class Labels_>
struct ListEntry final {
  using Layer = Layer_;
  using Compute = Compute_;
  using Labels = Labels_;
};

/// The user's layers whose output and parameters a walked layer has: fused forms keep the user's names.
template <class Layer>
struct origin {
  using output = Layer;
  using parameters = Layer;
};
template <class Linear, detail::BiasIs bias, class Out, class Activation, detail::DerivativeIs derivative, class Before>
struct origin<detail::LinearForm<Linear, bias, Out, Activation, derivative, Before>> {
  using output = mp::mp_if<std::is_void<Activation>, Linear, Activation>;
  using parameters = Linear;
};
template <class Activation, class Linear>
struct origin<detail::BiasActivation<Activation, Linear>> {
  using output = Activation;
  using parameters = Linear;
};
/// Whether a walked layer's parameters belong to the layer before: a bias that a product leaves to its activation.
template <class Layer>
inline constexpr bool has_bias_of_layer_before = false;
template <class Activation, class Linear>
inline constexpr bool has_bias_of_layer_before<detail::BiasActivation<Activation, Linear>> = true;
template <class Table>
struct origin<TiedLinear<Table>> {
  using output = TiedLinear<Table>;
  using parameters = Table;
};
template <class Table, class Out>
struct origin<detail::TiedLinearTo<Table, Out>> : origin<TiedLinear<Table>> {};
template <class Layer, std::size_t row_alignment>
struct origin<detail::PaddedRows<Layer, row_alignment>> : origin<Layer> {};

/// How many places of the list that paths refer to a walked layer has: what stands for two layers keeps the places of
/// both, so that random numbers, which depend on the path, are those of the two.
template <class Layer>
inline constexpr std::size_t places_of = 1;
template <class Linear, detail::BiasIs bias, class Out, class Activation, detail::DerivativeIs derivative, class Before>
inline constexpr std::size_t places_of<detail::LinearForm<Linear, bias, Out, Activation, derivative, Before>> =
    std::is_void_v<Activation> ? 1 : 2;

}  // namespace regimen::walk
// SPDX-License-Identifier: Apache-2.0
