// regimen/rule/generate.hpp — rules about generated texts.
#pragma once

#include <regimen/core/bundled.hpp>
#include <regimen/core/shape.hpp>
#include <regimen/rule/model_layers.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace regimen {

/// A model for generate: a Trainer or an Inference with input Tokens<T> and output (T,V).
///   input_size = output_rows = T, output_size = T·V
template <class Model>
concept PredictsTokens = requires(Model& model, std::span<const std::int32_t> tokens) {
  { Model::input_size } -> std::convertible_to<std::size_t>;
  { Model::output_size } -> std::convertible_to<std::size_t>;
  { model.predict(tokens)[0] } -> std::convertible_to<double>;
} && Model::output_rows == Model::input_size;

/// A model for generate with a source: a Trainer or an Inference with input Bundle<Tokens<S>, Tokens<T>> and output
/// (T,V).
template <class Model>
concept PredictsTarget = requires(Model& model, std::span<const typename Model::Input> texts) {
  { Model::output_size } -> std::convertible_to<std::size_t>;
  { Model::output_rows } -> std::convertible_to<std::size_t>;
  { model.predict(texts)[0] } -> std::convertible_to<double>;
  requires std::same_as<typename Model::Input, Bundled<typename detail::bundled_value<0, typename Model::Input>::type,
                                                       Value<std::int32_t, Shape<Model::output_rows>>>>;
  requires std::same_as<typename detail::bundled_value<0, typename Model::Input>::type::Element, std::int32_t>;
};

namespace rule {

/// A Trainer or an Inference: its type names its network.
template <class Model>
concept NamesNetwork = requires { typename parts_t<typename Model::Recipe::Network>; };
template <NamesNetwork Model>
using layers_of_network = typename parts_t<typename Model::Recipe::Network>::Layers;

/// The texts of a model for generate; nothing is known of a model that names no network.
///   is_one      whether it attends to no other text          are_apart, padding   as in two_texts
///   is_causal   whether no position of the text that it generates reads later ones
template <class Model>
struct texts_of {
  static constexpr bool is_one = true, are_apart = true, is_causal = true;
  static constexpr std::int32_t padding = -1;
};
template <NamesNetwork Model>
struct texts_of<Model> {
  using Layers = detail::layers_in<layers_of_network<Model>>;
  static constexpr bool is_one = !attends_to_named<Layers>, is_causal = !looks_ahead<Layers>;
};
template <NamesNetwork Model>
  requires PredictsTarget<Model>
struct texts_of<Model> : two_texts<layers_of_network<Model>> {};

/// docs/errors/texts.md#generate_takes_source
template <class Model>
struct generate_takes_source {
  static constexpr bool holds = !PredictsTarget<Model>;
  struct must_hold {
    static_assert(
        holds, "regimen: this model generates a text from another one; write generate(model, source, prompt, count)");
  };
};

/// docs/errors/texts.md#generate_needs_logits
template <class Model>
struct generate_needs_logits {
  static constexpr bool holds = PredictsTokens<Model>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: generate needs a model from Tokens<T> to (T,V), one row of logits for each token; call predict");
  };
};

/// No SelfAttention, Conv1d and GroupNorm of the model reads later positions.
/// docs/errors/texts.md#generate_needs_causal
template <class Model>
struct generate_needs_causal {
  static constexpr bool holds = texts_of<Model>::is_causal;
  struct must_hold {
    static_assert(
        holds,
        "regimen: generate needs layers that read no later position; write Causal, CausalPadding, LayerNorm for GroupNorm");
  };
};

/// Every position of a CrossAttention sees all of the named value, be it of the same text, where that is later words.
/// docs/errors/texts.md#generate_reads_one_text
template <class Model>
struct generate_reads_one_text {
  static constexpr bool holds = texts_of<Model>::is_one;
  struct must_hold {
    static_assert(holds,
                  "regimen: generate goes on with one text, a CrossAttention reads two; call predict for every token");
  };
};

template <class Model>
inline constexpr bool translates = false;
template <PredictsTarget Model>
inline constexpr bool translates<Model> = texts_of<Model>::are_apart;
/// The network is Input<Bundle<Tokens<S>, Tokens<T>>>, then Fork<Last, encoder, decoder>, of which the encoder reads
/// Part<0>, the decoder Part<1>, and nothing else but what the encoder keeps; output (T,V).
/// docs/errors/texts.md#generate_translates
template <class Model>
struct generate_translates {
  static constexpr bool holds = translates<Model>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: generate from a source needs Fork<Last, encoder of Part<0>, decoder of Part<1>>; call predict");
  };
};

/// Which token a character is, only the data or a tokenizer say.   docs/errors/texts.md#generate_reads_tokens
template <class Prompt>
struct generate_reads_tokens {
  static constexpr bool holds = !std::is_convertible_v<const Prompt&, std::string_view>;
  struct must_hold {
    static_assert(
        holds, "regimen: generate reads tokens, not characters; write generate(model, tokenizer.encode(text), count)");
  };
};

}  // namespace rule
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
