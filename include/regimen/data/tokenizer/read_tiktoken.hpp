// regimen/data/tokenizer/read_tiktoken.hpp — reads tiktoken's files: a token in base64 and its rank, line by line.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/data/tokenizer/parts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::data::bpe {

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
    const auto rank = regimen::detail::number_of<std::uint64_t>(line.substr((std::min)(space, line.size() - 1) + 1));
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
// SPDX-License-Identifier: Apache-2.0
