// regimen/data/token_file.ipp — the bodies of token_file.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/data/token_file.hpp>

#include <algorithm>
#include <utility>

namespace regimen {

REGIMEN_INLINE TokenFile::TokenFile(const std::string& path, Layout layout) {
  auto content = std::make_shared<Content>(path);
  const std::span<const std::byte> bytes = content->file.bytes();
  if (bytes.empty()) throw Error(path, "tokens", "an empty file", "write it again with the program that prepared it");
  if (layout == Detect && has_header(bytes)) content->offset = check_header(path, bytes);
  if (content->offset > 0) content->width = header_word(bytes, 0) == wide_magic ? 4 : 2;
  else if (layout == Raw32) content->width = 4;
  else if (layout == Detect && looks_wide(bytes))
    throw Error(path, "tokens of 16 bits", "numbers of which every second is small, and the others are not",
                "open it with TokenFile::Raw32 if its tokens have 32 bits, else with TokenFile::Raw");
  if ((bytes.size() - content->offset) % content->width != 0) {
    throw Error(path, content->width == 2 ? "an even number of bytes, two a token" : "bytes in fours, four a token",
                std::to_string(bytes.size()), "the file is cut off, or no file of tokens");
  }
  windows_.end = (bytes.size() - content->offset) / content->width;
  content_ = std::move(content);
}

REGIMEN_INLINE std::int32_t TokenFile::largest() const {
  std::int32_t result = 0;
  for (std::size_t i = windows_.begin; i < windows_.end; ++i)
    result = std::max<std::int32_t>(result, content_->token(i));
  return result;
}

REGIMEN_INLINE void TokenFile::read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
  const std::byte* tokens = content_->tokens();
  if (content_->width == 2) windows_.read(name(), index, sample, [tokens](std::size_t i) { return narrow(tokens, i); });
  else windows_.read(name(), index, sample, [tokens](std::size_t i) { return wide(tokens, i); });
}

REGIMEN_INLINE bool TokenFile::has_header(std::span<const std::byte> bytes) {
  if (bytes.size() >= 4 && (header_word(bytes, 0) == magic || header_word(bytes, 0) == wide_magic)) return true;
  if (bytes.size() < header_bytes) return false;
  const auto rest = bytes.subspan(12, header_bytes - 12);
  return std::all_of(rest.begin(), rest.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

REGIMEN_INLINE bool TokenFile::looks_wide(std::span<const std::byte> bytes) {
  const std::size_t pairs = (std::min)(bytes.size() / 4, std::size_t{4096});
  if (bytes.size() % 4 != 0 || pairs < 16) return false;
  std::size_t large = 0, others = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::int32_t low = narrow(bytes.data(), 2 * i), high = narrow(bytes.data(), 2 * i + 1);
    if (low == 0xFFFF && high == 0xFFFF) continue;  // -1, with which programs fill
    if (high >= 8) return false;
    ++others;
    large += low >= 8;
  }
  return others >= 16 && large >= others / 2;
}

REGIMEN_INLINE std::size_t TokenFile::check_header(const std::string& path, std::span<const std::byte> bytes) {
  const std::string where = path + ", header";
  const std::string cure =
      "the file is damaged, or cut off, or in another format (TokenFile::Raw reads bare uint16 tokens, Raw32 uint32)";
  if (bytes.size() < header_bytes) throw Error(where, "1024 bytes", std::to_string(bytes.size()), cure);
  const bool is_wide = header_word(bytes, 0) == wide_magic;
  if (!is_wide && header_word(bytes, 0) != magic)
    throw Error(where, "the magic number 20240520", std::to_string(header_word(bytes, 0)), cure);
  if (header_word(bytes, 1) != (is_wide ? wide_version : version))
    throw Error(where, is_wide ? "version 7, tokens of 32 bits" : "version 1, tokens of 16 bits",
                "version " + std::to_string(header_word(bytes, 1)), cure);
  const std::size_t width = is_wide ? 4 : 2;
  const std::size_t tokens = (bytes.size() - header_bytes) / width, odd = (bytes.size() - header_bytes) % width;
  if (header_word(bytes, 2) < 0 || static_cast<std::size_t>(header_word(bytes, 2)) != tokens || odd != 0) {
    throw Error(where, std::to_string(header_word(bytes, 2)) + " tokens in the file, as its header says",
                std::to_string(tokens) + (odd != 0 ? " and a part" : ""), cure);
  }
  return header_bytes;
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
