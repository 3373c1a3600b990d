// regimen/rule/tied_layer_exists.hpp — a tied layer shares the weights of a layer of the model.
#pragma once

namespace regimen::rule {

/// A tied layer has no weights of its own. Found: whether the model has Layer; Shares: whether Layer is an Embedding.
/// docs/errors/weights.md#tied_layer_exists
template <class Layer, bool Found = false, bool Shares = true>
struct tied_layer_exists {
  static constexpr bool holds = Found;
  struct must_hold {
    static_assert(holds,
                  "regimen: a tied layer shares the weights of a layer that this model lacks; name one that it has");
  };
};

template <class Layer, bool Found, bool Shares>
  requires(!Shares)
struct tied_layer_exists<Layer, Found, Shares> {
  static constexpr bool holds = Shares;
  struct must_hold {
    static_assert(holds, "regimen: TiedLinear<...> shares the table of an Embedding; write TiedLinear<Embedding<...>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
