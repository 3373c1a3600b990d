// regimen/layer/part.hpp — one value of an input with several values.
#pragma once

#include <regimen/core/bundled.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/layer/layer.hpp>

#include <boost/mp11/list.hpp>

#include <cstddef>

namespace regimen {

/// y = value I of the model's input, a Bundle          y has the value's shape and kind, tokens or numbers; exact
///
///   Model<Input<Bundle<Tokens<8>, Vector<4>>>,
///         Fork<Concat, Sequential<Part<0>, Embedding<Vocabulary<100>, 16>, MeanPool>,
///                      Sequential<Part<1>, Linear<16>>>,
///         ...>
///
/// refuses  an input that is no Bundle; an I beyond its values
/// cost     saves nothing; a copy; no gradient, since no layer before it trains
template <std::size_t I>
struct Part final {
  static constexpr const char* name = "part";
  static constexpr bool couples_samples = false;

  template <class X, class Roles>
  struct Bound : LayerDefaults {
    using Output = typename detail::bundled_value<I, typename X::Element>::type;
    static constexpr void forward(auto& walk, const auto& call) {
      walk.run(detail::copy_of_value<I, typename X::Element>(walk.batch, call.x, call.y));
    }
    static constexpr void backward(auto&, const auto&) {}
  };
};

namespace detail {

/// Whether layers read value I of the model's input, and no other value of it.
template <class Layer>
inline constexpr std::size_t part_of = ~std::size_t{0};
template <std::size_t I>
inline constexpr std::size_t part_of<Part<I>> = I;
template <std::size_t I, class... Layers>
constexpr bool are_of_part(boost::mp11::mp_list<Layers...>) {
  constexpr std::size_t none = part_of<void>;
  return ((part_of<Layers> == I) || ...) && ((part_of<Layers> == I || part_of<Layers> == none) && ...);
}
template <class Layer, std::size_t I>
inline constexpr bool reads_part = are_of_part<I>(layers_in<boost::mp11::mp_list<Layer>>{});

}  // namespace detail
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
