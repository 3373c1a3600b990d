// regimen/data/tokenizer/parts.hpp — contents of a tokenizer's files, bytes as characters there, and tiktoken's files.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::data::bpe {

/// The character that stands for each byte in the files of byte-level vocabularies, so that these are text: the byte's
/// own code where Latin-1 has a visible character, else 256, 257, ... in the order of the bytes.
///
/// source   GPT-2's bytes_to_unicode
constexpr std::array<std::uint16_t, 256> make_byte_characters() {
  std::array<std::uint16_t, 256> codes{};
  std::uint16_t next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool is_visible = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    codes[byte] = is_visible ? static_cast<std::uint16_t>(byte) : next++;
  }
  return codes;
}
inline constexpr std::array<std::uint16_t, 256> byte_characters = make_byte_characters();
inline constexpr std::size_t byte_character_limit = 256 + 68;  // above every code

/// Bytes as the text that stands for them in a file.
inline std::string to_characters(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) regimen::detail::append_utf8(text, byte_characters[static_cast<unsigned char>(byte)]);
  return text;
}

/// The bytes of a text of to_characters. False: a character stands for no byte.
inline bool from_characters(std::string_view text, std::string& bytes) {
  static const std::array<std::int16_t, byte_character_limit> byte_of = [] {
    std::array<std::int16_t, byte_character_limit> table{};
    table.fill(-1);
    for (std::size_t byte = 0; byte < 256; ++byte) table[byte_characters[byte]] = static_cast<std::int16_t>(byte);
    return table;
  }();
  bytes.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t code = static_cast<unsigned char>(text[i]);
    if (code >= 128) {  // two bytes of UTF-8: every code is below 2048
      if ((code & 0xE0) != 0xC0 || i + 1 == text.size()) return false;
      code = (code & 0x1F) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F);
    }
    if (code >= byte_character_limit || byte_of[code] < 0) return false;
    bytes.push_back(static_cast<char>(byte_of[code]));
  }
  return true;
}

using regimen::detail::Utf8;
using regimen::detail::utf8_at;

/// Where the valid UTF-8 that begins at `at` ends: at the first byte that belongs to no character, or the end.
inline std::size_t utf8_until(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    std::uint64_t eight = 0;
    if (at + 8 <= text.size() && (std::memcpy(&eight, text.data() + at, 8), (eight & 0x8080808080808080u) == 0)) {
      at += 8;
      continue;
    }
    const Utf8 character = utf8_at(text, at);
    if (!character.is_valid) return at;
    at += character.length;
  }
  return at;
}

/// Calls valid(part) for each part of a text that is UTF-8, and other(part) for the bytes between, in their order.
template <class Valid, class Other>
void for_each_part(std::string_view text, Valid&& valid, Other&& other) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t until = utf8_until(text, at);
    if (until > at) valid(text.substr(at, until - at));
    at = until;
    while (at < text.size()) {
      const Utf8 character = utf8_at(text, at);
      if (character.is_valid) break;
      at += character.length;
    }
    if (at > until) other(text.substr(until, at - until));
  }
}

inline bool is_utf8(std::string_view text) { return utf8_until(text, 0) == text.size(); }

/// The first place at or after `at` where a character begins, in valid UTF-8.
inline std::size_t character_begin(std::string_view text, std::size_t at) {
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  return at;
}

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

/// False: it is no base64 (RFC 4648, with its padding).
inline bool from_base64(std::string_view text, std::string& bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  bytes.clear();
  if (text.size() % 4 != 0) return false;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t word = 0;
    std::size_t padding = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t value = digits.find(text[i + j]);
      if (text[i + j] == '=' && i + 4 == text.size() && j >= 2) ++padding;
      else if (padding > 0 || value == std::string_view::npos) return false;
      word = word << 6 | static_cast<std::uint32_t>(value & 63);  // '=' gives bits that no byte has
    }
    for (std::size_t j = 0; j < 3 - padding; ++j) bytes.push_back(static_cast<char>(word >> (16 - 8 * j) & 0xFF));
  }
  return true;
}

/// Texts and ids of special tokens, which a tiktoken file does not have.
using SpecialIds = std::vector<std::pair<std::string, std::int32_t>>;

inline Parts read_tiktoken(std::string_view text, const std::string& name, const std::string& pattern,
                           const SpecialIds& specials) {
  constexpr std::size_t longest = 4096;  // every cut of a token is looked for
  Parts parts;
  parts.name = name;
  parts.by_rank = parts.whole_words = true;
  parts.cuts.push_back({.pattern = pattern});
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  std::vector<bool> has_byte(256);
  for (std::size_t at = 0, number = 1; at < text.size(); ++number) {
    const std::size_t end = (std::min)(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    if (line.empty()) continue;
    const std::string where = name + ", line " + std::to_string(number);
    const std::size_t space = line.find(' ');
    Token token{.kind = Token::Bytes};
    const std::string_view digits = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
    const auto rank = regimen::detail::number_of<std::uint64_t>(digits);
    if (!rank || !from_base64(line.substr(0, space), token.bytes))
      throw Error(where, "a token in base64, a space, its rank", "'" + std::string(line.substr(0, 80)) + "'",
                  "the file is damaged, or no file of tiktoken");
    if (token.bytes.empty() || token.bytes.size() > longest)
      throw Error(where, "a token of 1 to " + std::to_string(longest) + " bytes", std::to_string(token.bytes.size()));
    if (token.bytes.size() == 1) has_byte[static_cast<unsigned char>(token.bytes[0])] = true;
    put_token(parts, *rank, std::move(token), lines);
  }
  const auto missing = std::find(has_byte.begin(), has_byte.end(), false);
  if (missing != has_byte.end())
    throw Error(name, "a token for each of the 256 bytes",
                "none for byte " + std::to_string(missing - has_byte.begin()));
  for (const auto& [content, id] : specials) {
    if (content.empty() || !is_utf8(content) || id < 0)
      throw Error(name + ", special token '" + content + "'", "a text and an id of at least 0", std::to_string(id));
    put_token(parts, static_cast<std::uint64_t>(id),
              {.bytes = content, .kind = Token::Text, .special = true, .outside = true}, lines + specials.size());
    parts.added.push_back({.content = content, .id = id});
  }
  return parts;
}

}  // namespace regimen::data::bpe

namespace regimen::data {

/// The text with U+FFFD in place of every piece that is no UTF-8, as the Unicode standard recommends and Python's
/// bytes.decode("utf-8", "replace") does. Tokenizer takes any bytes; this function is for the ids of libraries that
/// take only UTF-8.
inline std::string replace_invalid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bpe::for_each_part(
      text, [&](std::string_view valid) { result += valid; },
      [&](std::string_view other) {
        for (std::size_t at = 0; at < other.size(); at += bpe::utf8_at(other, at).length) result += "\xEF\xBF\xBD";
      });
  return result;
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
