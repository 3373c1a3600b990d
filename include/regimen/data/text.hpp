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
#include <vector>

namespace regimen {

/// A text as tokens, cut into windows of the model's length T.
///
///   Text(path)                     token = byte, vocabulary 256
///   Text(path, Text::Characters)   the distinct bytes of the text, sorted, are numbered from
///                                  0 (nanoGPT's shakespeare_char)
///
///   sample i     input (T) tokens [i, i + T), target (T) tokens [i + 1, i + T + 1); N − T samples, which overlap
///   blocks()     the same text as ⌈(N − 1) / T⌉ windows that do not overlap: each target once, for a loss over the
///                whole split
///   split(0.9)   .train, the first ⌊0.9 N⌋ tokens, and .validation, the rest; both have the alphabet of the whole text
///
/// A token is a byte, also in UTF-8: a character outside ASCII is two to four tokens.
///
/// failure  Error for a missing or empty file, a model with fewer than vocabulary() ids, a text or split of fewer than
///          T + 1 tokens; from encode() for a character that is not in the text, from
///          decode() for an id beyond vocabulary()
/// cost     one byte of memory per token, shared by all copies, splits and blocks
class Text final : public detail::WindowSource<Text> {
 public:
  enum Units { Bytes, Characters };

  explicit Text(const std::string& path, Units units = Bytes) : Text(path, MappedFile(path), units) {}

  /// A text in memory; errors show `name` in place of the path.
  static Text from_string(std::string_view text, Units units = Bytes, const std::string& name = "text");

  const std::string& name() const& { return content_->name; }
  std::string name() const&& { return name(); }
  std::size_t vocabulary() const { return content_->alphabet.size(); }
  /// The characters in the order of their ids.
  const std::string& alphabet() const& { return content_->alphabet; }
  std::string alphabet() const&& { return alphabet(); }
  std::int32_t operator[](std::size_t index) const { return content_->tokens[windows_.begin + index]; }

  std::vector<std::int32_t> encode(std::string_view text) const;

  std::string decode(std::span<const std::int32_t> ids) const;

  std::size_t size(const SampleShape& shape) const;

  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const;

 private:
  struct Content {
    std::string name, alphabet;
    std::array<std::int16_t, 256> ids{};  // the id of each byte; -1: not in the alphabet
    std::vector<std::uint8_t> tokens;
    bool bytes = false;  // also those that the text lacks are in the alphabet
  };

  Text(const std::string& path, const MappedFile& file, Units units) : Text(path, file.bytes(), units) {}
  Text(const std::string& name, std::span<const std::byte> bytes, Units units);

  std::shared_ptr<const Content> content_;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/data/text.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
