// regimen/rule/shapes.hpp — rules about shapes: a layer that reads what the one before it does not write.
#pragma once

#include <regimen/core/bundled.hpp>
#include <regimen/core/number.hpp>
#include <regimen/rule/rule_list.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// Embedding looks up tokens; almost every other layer computes on numbers. X: the layer's input, with an `Element`;
/// Accepts: whether Layer reads that kind.   docs/errors/shapes.md#input_matches
template <class X, class Layer, bool Accepts = Number<typename X::Element>>
struct input_matches {
  static constexpr bool holds = Accepts;
  static constexpr bool tokens = std::is_integral_v<typename X::Element>,
                        bundle = detail::is_bundle<typename X::Element>;
  struct must_hold {
    static_assert(holds || tokens || bundle,
                  "regimen: this layer looks up tokens and is given numbers; write Input<Tokens<T>>, or another layer");
    static_assert(holds || !tokens,
                  "regimen: this layer computes on numbers and is given tokens; put Embedding<...> before it");
    static_assert(holds || !bundle, "regimen: this layer reads one value and is given a Bundle; put Part<I> before it");
  };
};

/// A layer's rules about its input. A user's layer may add `template <class X> using rules = mp_list<...>`.
template <class Layer, class X>
struct layer_rules : RuleList<input_matches<X, Layer>> {};
template <class Layer, class X>
  requires requires { typename Layer::template rules<X>; }
struct layer_rules<Layer, X> {
  using type = typename Layer::template rules<X>;
};

/// For a layer that declares the extent it reads. Expected: the layer's shape, Found: its input's shape.
/// docs/errors/shapes.md#inner_extent_matches
template <class Expected, class Found>
struct inner_extent_matches {
  static constexpr bool holds = Expected::columns == Found::columns;
  struct must_hold {
    static_assert(holds, "regimen: this layer reads another extent than the one before it writes; make the two equal");
  };
};

/// x + f(x) exists only where f keeps the shape.   docs/errors/shapes.md#residual_keeps_shape
template <class In, class Out>
struct residual_keeps_shape {
  static constexpr bool holds = std::is_same_v<In, Out>;
  struct must_hold {
    static_assert(holds,
                  "regimen: Residual<...> adds its input to its output; end it with the shape that it begins with");
  };
};

/// The output of one iteration is the input of the next.   docs/errors/shapes.md#repeat_keeps_shape
template <class In, class Out>
struct repeat_keeps_shape {
  static constexpr bool holds = std::is_same_v<In, Out>;
  struct must_hold {
    static_assert(
        holds, "regimen: Repeat<N, Block> feeds each block to the next; end Block with the shape that it begins with");
  };
};

/// Its input has a length and channels.   docs/errors/shapes.md#layer_takes_positions
///   MostAxes   2, or more of a layer that takes the positions of images and volumes, too
template <class Layer, class InputShape, std::size_t MostAxes = 2>
struct layer_takes_positions {
  static constexpr bool has_some = InputShape::rank >= 2, holds = has_some && InputShape::rank <= MostAxes;
  struct must_hold {
    static_assert(holds || !has_some,
                  "regimen: this layer takes positions (length, channels); put it behind an Embedding or Patches<N>");
    static_assert(
        has_some,
        "regimen: this layer takes positions, not a vector; write Input<Series<Length, Channels>>, or an Embedding, and no Flatten");
  };
};

/// Extent: of the axis, 0 if there is no such axis.   docs/errors/shapes.md#slice_fits_extent
template <class Layer, class Found, std::size_t Extent, std::size_t Begin, std::size_t Count>
struct slice_fits_extent {
  static constexpr bool holds = Count >= 1 && Begin < Extent && Count <= Extent - Begin;
  struct must_hold {
    static_assert(
        holds, "regimen: a slice takes one element of its axis or more; write a Begin and a Count that lie inside it");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
