// regimen/rule/generate_translates.hpp — generate with a source needs an encoder and a decoder that can be told apart.
#pragma once

namespace regimen::rule {

/// Translates: whether the network of Model is that: Input<Bundle<Tokens<S>, Tokens<T>>>, then Fork<Last, encoder, decoder>,
/// of which the encoder reads Part<0>, the decoder Part<1>, and nothing else but what the encoder keeps; output (T,V).
///   docs/errors/texts.md#generate_translates
template <class Model, bool Translates>
struct generate_translates {
  static constexpr bool holds = Translates;
  struct must_hold {
    static_assert(
        holds,
        "regimen: generate from a source needs Fork<Last, encoder of Part<0>, decoder of Part<1>>; call predict");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
