// regimen/data/text.ipp — the bodies of text.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/data/text.hpp>

#include <utility>

namespace regimen {

REGIMEN_INLINE Text Text::from_string(std::string_view text, Units units, const std::string& name) {
  return Text(name, std::as_bytes(std::span(text.data(), text.size())), units);
}

REGIMEN_INLINE std::vector<std::int32_t> Text::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (const char character : text) {
    const std::int16_t id = content_->ids[static_cast<unsigned char>(character)];
    if (id < 0) {
      throw Error(name() + ", character " + std::to_string(ids.size()) + " to encode",
                  "one of the " + std::to_string(vocabulary()) + " characters of the text",
                  "byte " + std::to_string(static_cast<unsigned char>(character)),
                  "leave it out, or train on bytes (Text::Bytes)");
    }
    ids.push_back(id);
  }
  return ids;
}

REGIMEN_INLINE std::string Text::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const std::int32_t id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= vocabulary()) {
      throw Error(name() + ", token " + std::to_string(text.size()) + " to decode",
                  "an id below " + std::to_string(vocabulary()), std::to_string(id));
    }
    text.push_back(content_->alphabet[static_cast<std::size_t>(id)]);
  }
  return text;
}

REGIMEN_INLINE std::size_t Text::size(const SampleShape& shape) const {
  if (content_->bytes)
    detail::expect_classes(name(), shape.vocabulary_or_classes, vocabulary(), ", since a token is a byte",
                           "number the characters that the text has (Text::Characters)");
  else detail::expect_classes(name(), shape.vocabulary_or_classes, vocabulary());
  return windows_.size(name(), shape);
}

REGIMEN_INLINE void Text::read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
  const std::uint8_t* tokens = content_->tokens.data();
  windows_.read(name(), index, sample, [tokens](std::size_t i) { return std::int32_t{tokens[i]}; });
}

REGIMEN_INLINE Text::Text(const std::string& name, std::span<const std::byte> bytes, Units units) {
  if (bytes.empty()) throw Error(name, "text", "an empty file", "give a file with text in it");
  auto content = std::make_shared<Content>();
  content->name = name;
  content->bytes = units == Bytes;
  std::array<bool, 256> occurs{};
  for (const std::byte byte : bytes) occurs[std::to_integer<std::size_t>(byte)] = true;
  for (std::size_t value = 0; value < 256; ++value) {
    const bool counts = units == Bytes || occurs[value];
    content->ids[value] = static_cast<std::int16_t>(counts ? static_cast<int>(content->alphabet.size()) : -1);
    if (counts) content->alphabet.push_back(static_cast<char>(value));
  }
  content->tokens.resize(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    content->tokens[i] = static_cast<std::uint8_t>(content->ids[std::to_integer<std::size_t>(bytes[i])]);
  windows_.end = bytes.size();
  content_ = std::move(content);
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
