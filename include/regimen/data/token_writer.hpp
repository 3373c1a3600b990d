// regimen/data/token_writer.hpp — writes the files that TokenFile reads.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace regimen::data {

/// Writes tokens, one piece after another; the file appears when it is complete (detail::AtomicFile).
///
///   Auto    llm.c's layout: uint16 if the vocabulary has at most 65536 tokens, else uint32
///   Raw     nanoGPT's: uint16 without a header, only for a vocabulary of at most 65536 tokens
///
/// failure  Error for ids outside the vocabulary, for more than 2^31 - 1 tokens with a header, since the header's
///          number of tokens has 32 bits (TokenShards writes several files); and the Errors of AtomicFile
/// cost     64 KiB
class TokenWriter final {
 public:
  enum Layout { Auto, Raw };
  /// Tokens in a file with a header, at most.
  static constexpr std::size_t most = (std::numeric_limits<std::int32_t>::max)();

  TokenWriter(const std::string& path, std::size_t vocabulary, Layout layout = Auto)
      : path_(path),
        file_(path),
        vocabulary_(vocabulary),
        width_(vocabulary <= 65536 ? 2 : 4),
        has_header_(layout == Auto) {
    if (layout == Raw && width_ == 4)
      throw Error(path, "a vocabulary of at most 65536 tokens in a file without a header", std::to_string(vocabulary),
                  "write one with a header (TokenWriter::Auto)");
    if (vocabulary == 0 || vocabulary > most)
      throw Error(path, "a vocabulary of 1 to 2^31 - 1 tokens", std::to_string(vocabulary));
    if (has_header_) write_header(false);
  }

  void write(std::span<const std::int32_t> tokens) {
    if (has_header_ && tokens.size() > most - count_)
      throw Error(path_, "at most " + std::to_string(most) + " tokens in a file with a header",
                  std::to_string(count_ + tokens.size()),
                  "write several files: tokens --shard-tokens 1000000000, or data::TokenShards");
    for (const std::int32_t token : tokens) {
      if (token < 0 || static_cast<std::size_t>(token) >= vocabulary_)
        throw Error(path_ + ", token " + std::to_string(count_), "an id below " + std::to_string(vocabulary_),
                    std::to_string(token));
      put(static_cast<std::uint32_t>(token), width_);
      ++count_;
      if (buffer_.size() >= std::size_t{1} << 16) flush();
    }
  }

  /// Tokens so far.
  std::size_t count() const { return count_; }

  /// Writes all tokens to the disk; none may follow. A later commit needs no more room.
  void finish() {
    flush();
    if (has_header_) write_header(true);
    buffer_ = {};
    file_.sync();
  }
  void commit() {
    finish();
    file_.commit();
  }
  /// After finish(): the file appears under another name in the same folder.
  void commit_as(const std::string& path) { file_.commit_as(path); }

 private:
  void put(std::uint32_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) buffer_.push_back(static_cast<std::byte>(value >> 8 * i & 0xFF));
  }
  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }
  void write_header(bool again) {
    buffer_.clear();
    for (const std::uint32_t word :
         {width_ == 2 ? 20240520u : 20240801u, width_ == 2 ? 1u : 7u, static_cast<std::uint32_t>(count_)})
      put(word, 4);
    buffer_.resize(1024);
    if (again) file_.write_again(0, buffer_);
    else file_.write(buffer_);
    buffer_.clear();
  }

  std::string path_;
  regimen::detail::AtomicFile file_;
  std::size_t vocabulary_, width_, count_ = 0;
  bool has_header_;
  std::vector<std::byte> buffer_{};
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
