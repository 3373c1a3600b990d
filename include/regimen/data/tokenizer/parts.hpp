// regimen/data/tokenizer/parts.hpp — contents of a tokenizer's files, in any format.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/data/tokenizer/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace regimen::data::bpe {

/// One token of the vocabulary.
struct Token final {
  enum Kind : std::uint8_t { Absent, Bytes, Text };  // Text: of an added token, or nothing that bytes are merged to
  std::string bytes{};
  Kind kind = Absent;
  bool special = false, outside = false;  // outside: no token of the model's own vocabulary
};

/// A token that is found in the text before it is cut into words.
struct AddedToken final {
  std::string content{};
  std::int32_t id = 0;
  bool special = true;
  bool normalized = false;  // looked for after the others
};

/// One cut of the text into words.
struct Cut final {
  std::string pattern{};
  bool drops_rest = false;  // what lies between matches is dropped, not a word
  bool is_literal = false;  // the pattern is a text
};

/// A tokenizer before its tables are built.
struct Parts final {
  std::string name{};           // the file, in errors
  std::vector<Token> tokens{};  // by id
  std::vector<std::array<std::uint32_t, 3>>
      merges{};              // first, second, and what they become; the earliest is made first
  bool by_rank = false;      // tiktoken: no merges; two tokens merge if their bytes are a token, the smallest id first
  bool whole_words = false;  // a word that is a token is that token, whatever its merges
  bool prefix_space = false;
  bool is_nfc = false;  // the file asks for the form NFC, which its texts have already
  std::vector<Cut> cuts{};
  std::vector<AddedToken> added{};
  std::vector<std::int32_t> before{}, after{};  // what frames a text
};

/// A pair and its rank are packed into 64 bits.
inline constexpr std::size_t most_tokens = (std::size_t{1} << 21) - 1, most_ranks = (std::size_t{1} << 22) - 1;

/// Puts a token at its id, which must be free, and not far beyond the others: ids index a table.
inline void put_token(Parts& parts, std::uint64_t id, Token token, std::size_t expected) {
  const std::size_t limit = 2 * expected + 4096 < most_tokens ? 2 * expected + 4096 : most_tokens;
  if (id >= limit)
    throw Error(parts.name + ", token '" + to_characters(token.bytes.substr(0, 60)) + "'",
                "an id below " + std::to_string(limit), std::to_string(id),
                "the file is damaged, or its ids have large gaps");
  const auto index = static_cast<std::size_t>(id);
  if (parts.tokens.size() <= index) parts.tokens.resize(index + 1);
  if (parts.tokens[index].kind != Token::Absent)
    throw Error(parts.name + ", id " + std::to_string(id), "one token",
                "'" + to_characters(parts.tokens[index].bytes.substr(0, 60)) + "' and '" +
                    to_characters(token.bytes.substr(0, 60)) + "'");
  parts.tokens[index] = std::move(token);
}

}  // namespace regimen::data::bpe
// SPDX-License-Identifier: Apache-2.0
