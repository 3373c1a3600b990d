// regimen/core/utf8.hpp — characters of a text in UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace regimen::detail {

/// What stands at a place of a text: the bytes of one character of UTF-8 (RFC 3629) or, where there is none, the bytes
/// that a decoder replaces by one U+FFFD: the longest beginning of a character, or one byte.
struct Utf8 final {
  std::size_t length = 1;
  bool is_valid = false;
};
constexpr Utf8 utf8_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned first = byte(at);
  if (first < 0x80) return {1, true};
  if (first < 0xC2 || first > 0xF4) return {};
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte excludes long forms of small codes, surrogates, and codes above 10FFFF.
  const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < length; ++i) {
    const bool fits =
        at + i < text.size() && byte(at + i) >= (i == 1 ? least : 0x80) && byte(at + i) <= (i == 1 ? most : 0xBF);
    if (!fits) return {i, false};
  }
  return {length, true};
}

/// Appends the character of a code, which is no surrogate.
inline void append_utf8(std::string& to, std::uint32_t code) {
  const auto add = [&](std::uint32_t bits) { to += static_cast<char>(bits); };
  if (code < 0x80) return add(code);
  if (code < 0x800) add(0xC0 | code >> 6);
  else {
    if (code < 0x10000) add(0xE0 | code >> 12);
    else add(0xF0 | code >> 18), add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
