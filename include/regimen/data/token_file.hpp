// regimen/data/token_file.hpp — files of uint16 and uint32 tokens, as nanoGPT and llm.c write them.
#pragma once

#include <regimen/core/little.hpp>
#include <regimen/core/mapped_file.hpp>
#include <regimen/data/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace regimen {

/// Tokens in a `.bin` file, mapped and cut into windows like Text. The first bytes distinguish the layouts:
///
///   nanoGPT   uint16 little-endian, nothing else. If every second number is small, as in tokens of 32 bits, and the
///             others are not, an Error asks for Raw or Raw32
///   Raw32     uint32 little-endian, nothing else: numpy's tofile() of a vocabulary above 65,536. Never detected: a
///             program must name it
///   llm.c     256 int32 (magic 20240520, version 1, number of tokens, zeros), then the tokens as uint16, little-endian
///   llm.c     as above with magic 20240801 and version 7, its Llama 3 files: the tokens as uint32. Here and in Raw32 a
///             token above 2^31 - 1 is read as 2^31 - 1, which no vocabulary has
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
class TokenFile final : public detail::WindowSource<TokenFile> {
 public:
  enum Layout { Detect, Raw, Raw32 };

  explicit TokenFile(const std::string& path, Layout layout = Detect);

  const std::string& name() const& { return content_->name; }
  std::string name() const&& { return name(); }
  std::int32_t operator[](std::size_t index) const { return content_->token(windows_.begin + index); }

  /// The largest id in this file or split; reads all of it.
  std::int32_t largest() const;

  std::size_t size(const SampleShape& shape) const { return windows_.size(name(), shape); }

  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const;

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
    return detail::little<std::uint16_t>(tokens + 2 * index);
  }
  static std::int32_t wide(const std::byte* tokens, std::size_t index) {
    const auto word = detail::little<std::uint32_t>(tokens + 4 * index);
    return word > 0x7FFFFFFF ? 0x7FFFFFFF : static_cast<std::int32_t>(word);
  }
  static std::int32_t header_word(std::span<const std::byte> bytes, std::size_t index) {
    return static_cast<std::int32_t>(detail::little<std::uint32_t>(bytes.data() + 4 * index));
  }

  static bool has_header(std::span<const std::byte> bytes);

  /// Whether these are tokens of 32 bits, read as twice as many of 16: the upper halves of ids below 2^19 are below 8.
  /// Reads the first 4096 pairs; fewer than 16, and files of small numbers only, decide nothing. Real tokens of 16 bits
  /// have 16 such ids in every second place with a chance of one in 10^30 for a vocabulary of 1,000.
  static bool looks_wide(std::span<const std::byte> bytes);

  static std::size_t check_header(const std::string& path, std::span<const std::byte> bytes);

  std::shared_ptr<const Content> content_;
};

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/data/token_file.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
