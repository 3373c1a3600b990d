// regimen/data/token_file.hpp — files of uint16 and uint32 tokens, as nanoGPT and llm.c write them.
#pragma once

#include <regimen/core/mapped_file.hpp>
#include <regimen/data/window.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace regimen {

/// Tokens in a `.bin` file, mapped and cut into windows like Text. The first bytes distinguish the layouts:
///
///   nanoGPT   uint16 little-endian, nothing else. Where every second is small, as in tokens of 32 bits, and the others are
///             not, an Error asks for Raw or Raw32
///   Raw32     uint32 little-endian, nothing else: numpy's tofile() of a vocabulary above 65,536. Never chosen by itself
///   llm.c     256 int32 (magic 20240520, version 1, number of tokens, zeros), then the tokens as uint16, little-endian
///   llm.c     the same with magic 20240801 and version 7, its Llama 3 files: the tokens as uint32. Those above 2^31 - 1
///             are read as 2^31 - 1, which no vocabulary has; so are those of Raw32
///
/// TokenWriter (data/token_writer.hpp) writes them.
/// If bytes 12 to 1023 are zero, the file counts as an llm.c file, even with a damaged magic; open a raw file that
/// begins with 500 tokens of id 0 with TokenFile::Raw.
///
/// failure  Error for a missing, empty or odd-sized file, a wrong magic or version, a count that does not match the
///          file's size, fewer than T + 1 tokens. Files may have 10^10 tokens, so Loader finds an id ≥ vocabulary only
///          when it reads the window; largest() finds it beforehand by reading the whole file.
/// source   karpathy/nanoGPT data/openwebtext/prepare.py; karpathy/llm.c dev/data/data_common.py
/// cost     no memory beyond the page cache
class TokenFile final {
 public:
  enum Layout { Detect, Raw, Raw32 };
  struct Split;

  explicit TokenFile(const std::string& path, Layout layout = Detect) {
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

  const std::string& name() const { return content_->name; }
  /// Tokens in this file or split.
  std::size_t length() const { return windows_.length(); }
  std::int32_t operator[](std::size_t index) const { return content_->token(windows_.begin + index); }

  /// The largest id in this file or split; reads all of it.
  std::int32_t largest() const {
    std::int32_t result = 0;
    for (std::size_t i = windows_.begin; i < windows_.end; ++i)
      result = std::max<std::int32_t>(result, content_->token(i));
    return result;
  }

  /// .train, the first ⌊fraction · N⌋ tokens, and .validation, the rest.
  Split split(double fraction) const;

  /// Windows side by side: each target once.
  TokenFile blocks() const {
    TokenFile result = *this;
    result.windows_.blocks = true;
    return result;
  }

  std::size_t size(const SampleShape& shape) const { return windows_.size(name(), shape); }

  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
    const std::byte* tokens = content_->tokens();
    if (content_->width == 2)
      windows_.read(name(), index, sample, [tokens](std::size_t i) { return narrow(tokens, i); });
    else windows_.read(name(), index, sample, [tokens](std::size_t i) { return wide(tokens, i); });
  }

 private:
  static constexpr std::size_t header_bytes = 1024;
  static constexpr std::int32_t magic = 20240520, version = 1;
  static constexpr std::int32_t wide_magic = 20240801, wide_version = 7;

  struct Content {
    explicit Content(const std::string& path) : name(path), file(path) {}
    const std::byte* tokens() const { return file.bytes().data() + offset; }
    std::int32_t token(std::size_t index) const { return width == 2 ? narrow(tokens(), index) : wide(tokens(), index); }
    std::string name;
    MappedFile file;
    std::size_t offset = 0, width = 2;
  };

  static std::int32_t narrow(const std::byte* tokens, std::size_t index) {
    return std::to_integer<std::int32_t>(tokens[2 * index]) | std::to_integer<std::int32_t>(tokens[2 * index + 1]) << 8;
  }
  static std::int32_t wide(const std::byte* tokens, std::size_t index) {
    std::uint32_t word = 0;
    for (std::size_t i = 4; i-- > 0;) word = word << 8 | std::to_integer<std::uint32_t>(tokens[4 * index + i]);
    return static_cast<std::int32_t>(std::min<std::uint32_t>(word, 0x7FFFFFFF));
  }

  static std::int32_t header_word(std::span<const std::byte> bytes, std::size_t index) {
    std::uint32_t word = 0;
    for (std::size_t i = 4; i-- > 0;) word = word << 8 | std::to_integer<std::uint32_t>(bytes[4 * index + i]);
    return static_cast<std::int32_t>(word);
  }

  static bool has_header(std::span<const std::byte> bytes) {
    if (bytes.size() >= 4 && (header_word(bytes, 0) == magic || header_word(bytes, 0) == wide_magic)) return true;
    if (bytes.size() < header_bytes) return false;
    const auto rest = bytes.subspan(12, header_bytes - 12);
    return std::all_of(rest.begin(), rest.end(), [](std::byte byte) { return byte == std::byte{0}; });
  }

  /// Whether these are tokens of 32 bits, read as twice as many of 16: the upper halves of ids below 2^19 are below 8. Of
  /// the first 4096 pairs; fewer than 16 say nothing, and neither do files in which all numbers are small. Text that is
  /// what it seems has 16 such ids in every second place with a chance of one in 10^30 for a vocabulary of 1,000.
  static bool looks_wide(std::span<const std::byte> bytes) {
    const std::size_t pairs = (std::min)(bytes.size() / 4, std::size_t{4096});
    if (bytes.size() % 4 != 0 || pairs < 16) return false;
    std::size_t large = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
      if (narrow(bytes.data(), 2 * i + 1) >= 8) return false;
      large += narrow(bytes.data(), 2 * i) >= 8;
    }
    return large >= pairs / 2;
  }

  static std::size_t check_header(const std::string& path, std::span<const std::byte> bytes) {
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

  std::shared_ptr<const Content> content_;
  detail::Windows windows_;
};

struct TokenFile::Split {
  TokenFile train, validation;
};

inline TokenFile::Split TokenFile::split(double fraction) const {
  Split result{*this, *this};
  windows_.split(name(), fraction, result.train.windows_, result.validation.windows_);
  return result;
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
