// regimen/data/token_writer.hpp — writes the files that TokenFile reads; and a stream of tokens as several files.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/printed.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

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
      : file_(path), vocabulary_(vocabulary), width_(vocabulary <= 65536 ? 2 : 4), has_header_(layout == Auto) {
    if (layout == Raw && width_ == 4)
      throw Error(path, "a vocabulary of at most 65536 tokens in a file without a header", std::to_string(vocabulary),
                  "write one with a header (TokenWriter::Auto)");
    if (vocabulary == 0 || vocabulary > most)
      throw Error(path, "a vocabulary of 1 to 2^31 - 1 tokens", std::to_string(vocabulary));
    if (has_header_) write_header(false);
  }

  void write(std::span<const std::int32_t> tokens) {
    if (has_header_ && tokens.size() > most - count_)
      throw Error(file_.path(), "at most " + std::to_string(most) + " tokens in a file with a header",
                  std::to_string(count_ + tokens.size()),
                  "write several files: tokens --shard-tokens 1000000000, or data::TokenShards");
    for (const std::int32_t token : tokens) {
      if (token < 0 || static_cast<std::size_t>(token) >= vocabulary_)
        throw Error(file_.path() + ", token " + std::to_string(count_), "an id below " + std::to_string(vocabulary_),
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

  regimen::detail::AtomicFile file_;
  std::size_t vocabulary_, width_, count_ = 0;
  bool has_header_;
  std::vector<std::byte> buffer_{};
};

/// Writes tokens, one piece after another, to files of a given number of tokens each; the last file has the rest. A
/// text is cut when a file is full; TokenFiles reads the files as one stream, with the samples and the documents of one
/// file.
///
///   data::TokenShards shards("train", tokenizer.vocabulary(), {.tokens = 1'000'000'000});
///   shards.write(ids);
///   shards.commit();      // train-00000-of-00003.bin to train-00002-of-00003.bin
///   const data::TokenFiles train("train-*.bin");
///
/// commit   names the files, since only then their number is known. Before commit none of them exists
/// there    Refuse   the constructor and commit() throw an Error if shards of this prefix exist
///          Replace  commit() removes existing shards, of any number, when all of its own are on the disk
/// failure  Error as TokenWriter; for a number of tokens that a file cannot have; for more than 99999 files
/// cost     the cost of TokenWriter, and an open file for each shard until it is committed
class TokenShards final {
 public:
  enum There { Refuse, Replace };
  struct Options final {
    std::size_t tokens = 1'000'000'000;  // of each file
    TokenWriter::Layout layout = TokenWriter::Auto;
    There there = Refuse;
  };

  TokenShards(const std::string& prefix, std::size_t vocabulary, const Options& options)
      : prefix_(prefix), vocabulary_(vocabulary), options_(options) {
    check(prefix, options);
    remove_stale();
    begin();
  }

  void write(std::span<const std::int32_t> tokens) {
    while (!tokens.empty()) {
      if (shards_.back()->count() == options_.tokens) {
        shards_.back()->finish();
        begin();
      }
      const auto piece = tokens.first((std::min)(tokens.size(), options_.tokens - shards_.back()->count()));
      shards_.back()->write(piece);
      tokens = tokens.subspan(piece.size());
      count_ += piece.size();
    }
  }

  /// Tokens so far, and their files.
  std::size_t count() const { return count_; }
  std::size_t shards() const { return shards_.size(); }

  void commit() {
    shards_.back()->finish();
    check(prefix_, options_);  // others may have come meanwhile
    for (const std::string& path : found(prefix_))
      if (::unlink(path.c_str()) != 0) throw Error(path, "to remove it", regimen::detail::system_words(errno));
    for (std::size_t i = 0; i < shards_.size(); ++i)
      shards_[i]->commit_as(prefix_ + regimen::detail::printed("-%05zu-of-%05zu.bin", i, shards_.size()));
  }

  /// Throws the Error that the constructor would throw for any vocabulary.
  static void check(const std::string& prefix, const Options& options) {
    if (regimen::detail::name_of_file(prefix).empty())
      throw Error("TokenShards", "the beginning of the files' names", "'" + prefix + "'", "write train, say");
    const std::size_t most = options.layout == TokenWriter::Auto ? TokenWriter::most : ~std::size_t{0};
    if (options.tokens == 0 || options.tokens > most)
      throw Error(prefix + ", tokens of a shard", "1 to " + std::to_string(most), std::to_string(options.tokens));
    if (options.there == Replace) return;
    const std::vector<std::string> paths = found(prefix);
    if (!paths.empty())
      throw Error(prefix, "no shards yet", paths.front(), "replace them (--replace), or choose another name");
  }
  /// The existing shards of a prefix, of any number.
  static std::vector<std::string> found(const std::string& prefix) {
    const std::string directory = regimen::detail::directory_of(prefix);
    std::vector<std::string> paths;
    for (const std::string& name : regimen::detail::names_in(directory))
      if (is_shard(prefix, name)) paths.push_back(directory + name);
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  /// Whether a name, without its folder, is one that a shard of this prefix may have.
  static bool is_shard(const std::string& prefix, std::string_view name) {
    const std::string begin = regimen::detail::name_of_file(prefix) + "-";
    if (!name.starts_with(begin)) return false;
    name.remove_prefix(begin.size());
    return take_number(name) && take(name, "-of-") && take_number(name) && name == ".bin";
  }

 private:
  static constexpr std::size_t most_shards = 99'999;  // more would not be sorted by their names

  static bool take(std::string_view& text, std::string_view part) {
    const bool is_there = text.starts_with(part);
    if (is_there) text.remove_prefix(part.size());
    return is_there;
  }
  static bool take_number(std::string_view& text) {
    const std::size_t digits = (std::min)(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(digits);
    return digits >= 5;
  }

  /// Removes files of a killed writer that wrote more shards than this one may have.
  void remove_stale() const {
    const std::string directory = regimen::detail::directory_of(prefix_);
    const std::string begin = regimen::detail::name_of_file(prefix_) + "-";
    for (const std::string& name : regimen::detail::names_to_tidy(directory)) {
      std::string_view rest = name;
      if (take(rest, begin) && take_number(rest) && take(rest, ".bin") &&
          regimen::detail::AtomicFile::ends_temporary(rest))
        regimen::detail::AtomicFile::remove_if_stale(directory + name);
    }
  }
  void begin() {
    if (shards_.size() == most_shards)
      throw Error(prefix_, "at most " + std::to_string(most_shards) + " files", "more", "put more tokens into each");
    const std::string name = prefix_ + regimen::detail::printed("-%05zu.bin", shards_.size());
    shards_.push_back(std::make_unique<TokenWriter>(name, vocabulary_, options_.layout));
  }

  std::string prefix_;
  std::size_t vocabulary_, count_ = 0;
  Options options_;
  std::vector<std::unique_ptr<TokenWriter>> shards_{};
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
