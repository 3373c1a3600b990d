// regimen/rule/texts.hpp — rules about texts: generated, of unlike lengths, padded.
#pragma once

#include <regimen/layer/padding.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::rule {

/// IsCausal: whether no SelfAttention, Conv1d and GroupNorm of the model reads later positions.
/// docs/errors/texts.md#generate_needs_causal
template <class Network, bool IsCausal>
struct generate_needs_causal {
  static constexpr bool holds = IsCausal;
  struct must_hold {
    static_assert(
        holds,
        "regimen: generate needs layers that read no later position; write Causal, CausalPadding, LayerNorm for GroupNorm");
  };
};

/// Predicts: whether Model maps Tokens<T> to (T,V).   docs/errors/texts.md#generate_needs_logits
template <class Model, bool Predicts>
struct generate_needs_logits {
  static constexpr bool holds = Predicts;
  struct must_hold {
    static_assert(
        holds,
        "regimen: generate needs a model from Tokens<T> to (T,V), one row of logits for each token; call predict");
  };
};

/// Which token a character is, only the data or a tokenizer say.   docs/errors/texts.md#generate_reads_tokens
template <class Prompt, bool Reads = false>
struct generate_reads_tokens {
  static constexpr bool holds = Reads;
  struct must_hold {
    static_assert(
        holds, "regimen: generate reads tokens, not characters; write generate(model, tokenizer.encode(text), count)");
  };
};

/// Every position of a CrossAttention sees all of the named value, be it of the same text, where that is later words.
/// One: whether the model has no CrossAttention.   docs/errors/texts.md#generate_reads_one_text
template <class Network, bool One>
struct generate_reads_one_text {
  static constexpr bool holds = One;
  struct must_hold {
    static_assert(holds,
                  "regimen: generate goes on with one text, a CrossAttention reads two; call predict for every token");
  };
};

/// Told: whether Model reads one text.   docs/errors/texts.md#generate_takes_source
template <class Model, bool Told>
struct generate_takes_source {
  static constexpr bool holds = Told;
  struct must_hold {
    static_assert(
        holds, "regimen: this model generates a text from another one; write generate(model, source, prompt, count)");
  };
};

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

/// Name is a NamedLength.   docs/errors/texts.md#within_names_length
template <class Name>
struct within_names_length {
  static constexpr bool holds = detail::positions_of<Name> > 0;
  struct must_hold {
    static_assert(holds, "regimen: Within and KeepLength name a length; write struct Name : NamedLength<...> {}");
  };
};

/// Keys: those that the attention reads. Declared: the positions of the length's name.
/// docs/errors/texts.md#within_ends_its_keys
template <class Attention, std::size_t Keys, std::size_t Declared>
struct within_ends_its_keys {
  static constexpr bool holds = Keys == Declared;
  struct must_hold {
    static_assert(holds,
                  "regimen: Within<Name> ends keys of other positions than Name's; name the length of their text");
  };
};

/// Attention has a Within and Causal.   docs/errors/texts.md#within_looks_ahead
template <class Attention>
struct within_looks_ahead {
  static constexpr bool holds = std::is_void_v<typename Attention::Chosen::lengths> || !Attention::Chosen::causal;
  struct must_hold {
    static_assert(holds, "regimen: Causal hides all that comes later, padding too; leave out Within<...>");
  };
};

/// Found: the positions of the text. Declared: those of NamedLength<...>.   docs/errors/texts.md#length_counts_its_text
template <class Keep, std::size_t Found, std::size_t Declared>
struct length_counts_its_text {
  static constexpr bool holds = Found == Declared;
  struct must_hold {
    static_assert(holds,
                  "regimen: KeepLength<Name, ...> counts a text of other positions than Name's; declare the text's");
  };
};

/// Who predicts fills a shorter text with the one, and the other would see no end.
/// First, Other: of the first KeepLength of a text, and of a later one.   docs/errors/texts.md#one_token_pads_a_text
template <class First, class Other>
struct one_token_pads_a_text {
  static constexpr bool holds = std::is_same_v<First, Other>;
  struct must_hold {
    static_assert(holds,
                  "regimen: PaddedWith<...> differs between two KeepLength of one text; write the same token in both");
  };
};

template <class Option>
inline constexpr bool is_padded_with = false;
template <std::int32_t Token>
inline constexpr bool is_padded_with<PaddedWith<Token>> = true;

/// End: of a KeepLength, or of an Embedding. Words: the size of the vocabulary; 0 where there is no Embedding.
/// docs/errors/texts.md#padding_is_a_token
template <class End, std::size_t Words>
struct padding_is_a_token {
  static constexpr std::int64_t token = detail::padding_token<End>;
  static constexpr bool holds = token >= 0 && (Words == 0 || token < std::int64_t(Words));
  struct must_hold {
    static_assert(holds,
                  "regimen: PaddedWith<...> names no token of the vocabulary; write the one that fills shorter texts");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
