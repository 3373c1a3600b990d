// regimen/rule/input_matches.hpp — a layer that looks up tokens gets tokens, other layers get numbers.
#pragma once

#include <regimen/core/bundled.hpp>

#include <type_traits>

namespace regimen::rule {

/// Embedding looks up tokens; every other layer computes on numbers. Input: the layer's input, with an `Element`;
/// Accepts: whether Layer reads that kind.   docs/errors/shapes.md#input_matches
template <class Input, class Layer, bool Accepts = false>
struct input_matches {
  static constexpr bool holds = Accepts;
  struct must_hold {
    static_assert(holds,
                  "regimen: this layer looks up tokens and is given numbers; write Input<Tokens<T>>, or another layer");
  };
};

template <class Input, class Layer, bool Accepts>
  requires std::is_integral_v<typename Input::Element>
struct input_matches<Input, Layer, Accepts> {
  static constexpr bool holds = Accepts;
  struct must_hold {
    static_assert(holds, "regimen: this layer computes on numbers and is given tokens; put Embedding<...> before it");
  };
};

template <class Input, class Layer, bool Accepts>
  requires detail::is_bundle<typename Input::Element>
struct input_matches<Input, Layer, Accepts> {
  static constexpr bool holds = Accepts;
  struct must_hold {
    static_assert(holds, "regimen: this layer reads one value and is given a Bundle; put Part<I> before it");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
