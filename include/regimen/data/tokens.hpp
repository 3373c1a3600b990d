// regimen/data/tokens.hpp — several files of tokens as one stream, and the documents in a stream.
#pragma once

#include <regimen/data/dataset.hpp>
#include <regimen/data/files.hpp>
#include <regimen/data/token_file.hpp>
#include <regimen/data/window.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace regimen::data {

/// Files of tokens, one after the other, as one stream. Like a TokenFile the stream is cut into windows, also across
/// two files.
///
///   data::TokenFiles train("fineweb_train_*.bin");
///   auto [first, rest] = train.split(0.9);
///
/// failure  as TokenFile, with the name of the file
/// cost     no memory beyond the page cache. Opening reads only headers, so it reports no progress
class TokenFiles final : public regimen::detail::WindowSource<TokenFiles> {
 public:
  explicit TokenFiles(const Paths& paths, TokenFile::Layout layout = TokenFile::Detect) {
    auto content = std::make_shared<Content>();
    for (const std::string& path : paths.files()) {
      content->files.emplace_back(path, layout);
      windows_.end += content->files.back().length();
      content->ends.push_back(windows_.end);
    }
    content->name = paths.name();
    content_ = std::move(content);
  }

  const std::string& name() const& { return content_->name; }
  std::string name() const&& { return name(); }
  std::int32_t operator[](std::size_t index) const { return Reader{content_.get()}(windows_.begin + index); }

  std::size_t size(const SampleShape& shape) const { return windows_.size(name(), shape); }
  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
    windows_.read(name(), index, sample, Reader{content_.get()});
  }

 private:
  struct Content {
    std::string name;
    std::vector<TokenFile> files;
    std::vector<std::size_t> ends;  // of each file, in the stream
  };
  /// Gives tokens of the stream; searches the file only when one ends. Belongs to one thread.
  struct Reader {
    std::int32_t operator()(std::size_t index) const {
      if (index < begin || index >= end) {
        const auto place = std::upper_bound(content->ends.begin(), content->ends.end(), index);
        file = &content->files[static_cast<std::size_t>(place - content->ends.begin())];
        end = *place;
        begin = end - file->length();
      }
      return (*file)[index - begin];
    }
    const Content* content;
    mutable const TokenFile* file = nullptr;
    mutable std::size_t begin = 0, end = 0;
  };

  std::shared_ptr<const Content> content_;
};

/// The side of a document on which the separating token is: llm.c writes it before each document.
enum class Separator { Begins, Ends };

/// The documents in a stream of tokens, separated by one special token (GPT-2: 50256). Documents (data/documents.hpp)
/// packs documents into windows.
///
///   Tokens   TokenFile, TokenFiles, or another type with their length(), operator[] and name()
///   value    std::vector<std::int32_t>: a document with the token that begins or ends it. Tokens before the first
///            beginning, or after the last end, are a document, too
///
///   const data::TokenDocuments texts(TokenFile("train.bin"), 50256, data::Separator::Begins);
///
/// failure  as Tokens
/// cost     8 bytes of memory for each document; opening reads all tokens
template <class Tokens>
class TokenDocuments final {
 public:
  TokenDocuments(Tokens tokens, std::int32_t separator, Separator side, const Report& report = {})
      : tokens_(std::move(tokens)) {
    auto borders = std::make_shared<std::vector<std::uint64_t>>(1, 0);
    const std::size_t length = tokens_.length(), piece = std::size_t{1} << 24;
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t border = side == Separator::Ends ? i + 1 : i;
      if (tokens_[i] == separator && border != borders->back()) borders->push_back(border);
      if (report && i % piece == piece - 1) report("reading tokens", i + 1, length);
    }
    if (borders->back() != length) borders->push_back(length);
    if (report) report("reading tokens", length, length);
    borders_ = std::move(borders);
  }

  std::size_t size() const { return borders_->size() - 1; }
  const std::string& name() const& { return tokens_.name(); }
  std::string name() const&& { return name(); }

  std::string place(const Key& key) const { return name() + ", document " + std::to_string(key.index); }
  std::vector<std::int32_t> at(const Key& key) const {
    if (key.index >= size())
      throw Error(name(), "a document below " + std::to_string(size()), "document " + std::to_string(key.index));
    const std::size_t begin = (*borders_)[key.index], end = (*borders_)[key.index + 1];
    std::vector<std::int32_t> document(end - begin);
    for (std::size_t i = begin; i < end; ++i) document[i - begin] = tokens_[i];
    return document;
  }

 private:
  Tokens tokens_;
  std::shared_ptr<const std::vector<std::uint64_t>> borders_;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
