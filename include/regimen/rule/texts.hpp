// regimen/rule/texts.hpp — rules about texts of unlike lengths, and their padding. generate.hpp: generated ones.
#pragma once

#include <regimen/layer/padding.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::rule {

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
