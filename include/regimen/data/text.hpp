// regimen/data/text.hpp — a text file as tokens: bytes, or the distinct characters of the text.
#pragma once

#include <regimen/core/mapped_file.hpp>
#include <regimen/data/window.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen {

/// A text as tokens, cut into windows of the model's length T.
///
///   Text(path)                     token = byte, vocabulary 256
///   Text(path, Text::Characters)   the distinct bytes of the text, sorted, are numbered from
///                                  0 (nanoGPT's shakespeare_char)
///
///   sample i     input (T) tokens [i, i + T), target (T) tokens [i + 1, i + T + 1); N − T samples, which overlap
///   blocks()     the same text as ⌈(N − 1) / T⌉ windows side by side: each target once,
///                for a loss over the whole split
///   split(0.9)   .train, the first ⌊0.9 N⌋ tokens, and .validation, the rest; both have the alphabet of the whole text
///
/// A token is a byte, also in UTF-8: a character outside ASCII is two to four tokens.
///
/// failure  Error for a missing or empty file, a model with fewer than vocabulary() ids, a text or split of fewer than
///          T + 1 tokens; from encode() for a character that the text lacks, from
///          decode() for an id beyond vocabulary()
/// cost     one byte of memory per token, shared by all copies, splits and blocks
class Text final {
 public:
  enum Units { Bytes, Characters };
  struct Split;

  explicit Text(const std::string& path, Units units = Bytes) : Text(path, MappedFile(path).bytes(), units) {}

  /// The same from memory; errors show `name` in place of the path.
  static Text from_string(std::string_view text, Units units = Bytes, const std::string& name = "text") {
    return Text(name, std::as_bytes(std::span(text.data(), text.size())), units);
  }

  const std::string& name() const { return content_->name; }
  std::size_t vocabulary() const { return content_->alphabet.size(); }
  /// The characters in the order of their ids.
  const std::string& alphabet() const { return content_->alphabet; }
  /// Tokens in this text or split.
  std::size_t length() const { return windows_.length(); }
  std::int32_t operator[](std::size_t index) const { return content_->tokens[windows_.begin + index]; }

  std::vector<std::int32_t> encode(std::string_view text) const {
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

  std::string decode(std::span<const std::int32_t> ids) const {
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

  Split split(double fraction) const;

  Text blocks() const {
    Text result = *this;
    result.windows_.blocks = true;
    return result;
  }

  std::size_t size(const SampleShape& shape) const {
    if (content_->bytes)
      detail::expect_classes(name(), shape.vocabulary_or_classes, vocabulary(), ", since a token is a byte",
                             "number the characters that the text has (Text::Characters)");
    else detail::expect_classes(name(), shape.vocabulary_or_classes, vocabulary());
    return windows_.size(name(), shape);
  }

  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
    const std::uint8_t* tokens = content_->tokens.data();
    windows_.read(name(), index, sample, [tokens](std::size_t i) { return std::int32_t{tokens[i]}; });
  }

 private:
  struct Content {
    std::string name, alphabet;
    std::array<std::int16_t, 256> ids{};  // the id of each byte; -1: not in the alphabet
    std::vector<std::uint8_t> tokens;
    bool bytes = false;  // also those that the text lacks are in the alphabet
  };

  [[gnu::noinline]] Text(const std::string& name, std::span<const std::byte> bytes, Units units) {
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

  std::shared_ptr<const Content> content_;
  detail::Windows windows_;
};

struct Text::Split {
  Text train, validation;
};

inline Text::Split Text::split(double fraction) const {
  Split result{*this, *this};
  windows_.split(name(), fraction, result.train.windows_, result.validation.windows_);
  return result;
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
