// regimen/data/documents.hpp — packs texts of unequal lengths into windows of equal length.
#pragma once

#include <regimen/core/operation.hpp>  // ignore_index
#include <regimen/data/source.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace regimen {

/// Documents, each a row of tokens, as samples for a model of T tokens. All windows cost the same compute; ranks may
/// only differ in their numbers of valid labels.
///
///   Documents(documents, T)                          packed: pieces of documents fill the windows, the
///                                                    longest first, each into the window where it leaves
///                                                    least room (best-fit decreasing)
///   Documents(documents, T, Documents::OneAWindow)   each piece in a window of its own
///   Documents(documents, T, Documents::ByLength)     each piece in a window of its own, the shortest first: with
///                                                    Order::Runs the pieces of a batch have similar lengths
///
///   piece      a document of n tokens predicts n − 1; it is cut into pieces of at most T predictions
///   sample     input (T), target (T): the pieces side by side; the rest is token 0 with target ignore_index
///   attention  a token also attends to earlier pieces in its window
///
/// failure  Error for T = 0, if no document has two tokens, for a negative token; from size() for a model of another
///          length or with fewer ids
/// cost     the documents, 32 bytes per piece and a vector per window; packing n pieces takes time n log n
class Documents final {
 public:
  enum Batching { Packed, OneAWindow, ByLength };

  explicit Documents(std::vector<std::vector<std::int32_t>> documents, std::size_t length, Batching batching = Packed) {
    if (length == 0) throw Error("Documents", "windows of at least one token", "0");
    auto content = std::make_shared<Content>();
    content->documents = std::move(documents);
    content->length = length;
    content->cut();
    content->pack(batching);
    if (content->windows.empty())
      throw Error("Documents", "a document of two tokens or more",
                  "none among " + std::to_string(content->documents.size()),
                  "a token is predicted from those before it");
    content_ = std::move(content);
  }

  std::string name() const { return "Documents"; }
  std::size_t vocabulary() const { return content_->vocabulary; }
  /// Valid labels in all windows: at most `windows() * T`.
  std::size_t targets() const { return content_->targets; }
  std::size_t windows() const { return content_->windows.size(); }

  std::size_t size(const SampleShape& shape) const {
    detail::expect_extents(name(), shape, content_->length, content_->length);
    detail::expect_classes(name(), shape.vocabulary_or_classes, vocabulary());
    return windows();
  }
  void read(std::size_t index, Sample<std::int32_t, std::int32_t> sample) const {
    detail::expect_index(name(), index, windows());
    std::size_t at = 0;
    for (const std::size_t number : content_->windows[index]) {
      const Piece& piece = content_->pieces[number];
      const std::vector<std::int32_t>& document = content_->documents[piece.document];
      for (std::size_t i = 0; i < piece.count; ++i, ++at) {
        sample.input[at] = document[piece.first + i];
        sample.target[at] = document[piece.first + i + 1];
      }
    }
    for (; at < content_->length; ++at) {
      sample.input[at] = 0;
      sample.target[at] = ignore_index;
    }
  }

 private:
  struct Piece {
    std::size_t document = 0, first = 0, count = 0;  // targets
  };
  struct Content {
    std::vector<std::vector<std::int32_t>> documents;
    std::size_t length = 0, vocabulary = 0, targets = 0;
    std::vector<Piece> pieces;
    std::vector<std::vector<std::size_t>> windows;  // of numbers of pieces

    void cut() {
      for (std::size_t d = 0; d < documents.size(); ++d) {
        for (std::size_t i = 0; i < documents[d].size(); ++i) {
          if (documents[d][i] < 0)
            throw Error("Documents, document " + std::to_string(d) + ", token " + std::to_string(i),
                        "an id of at least 0", std::to_string(documents[d][i]));
          vocabulary = (std::max)(vocabulary, static_cast<std::size_t>(documents[d][i]) + 1);
        }
        for (std::size_t first = 0; first + 1 < documents[d].size(); first += length)
          pieces.push_back({d, first, (std::min)(length, documents[d].size() - 1 - first)});
      }
      for (const Piece& piece : pieces) targets += piece.count;
    }
    void pack(Batching batching) {
      std::vector<std::size_t> order(pieces.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      const auto stands_before = [&](std::size_t a, std::size_t b) {
        const std::size_t one = pieces[a].count, other = pieces[b].count;
        return one == other ? a < b : (one < other) == (batching == ByLength);
      };
      if (batching != OneAWindow) std::sort(order.begin(), order.end(), stands_before);
      if (batching != Packed) {
        for (const std::size_t number : order) windows.push_back({number});
        return;
      }
      std::set<std::pair<std::size_t, std::size_t>> rooms;  // (free space, window)
      for (const std::size_t number : order) {
        const std::size_t count = pieces[number].count;
        const auto best = rooms.lower_bound({count, 0});
        std::size_t room = length, window = windows.size();
        if (best == rooms.end()) {
          windows.emplace_back();
        } else {
          room = best->first;
          window = best->second;
          rooms.erase(best);
        }
        windows[window].push_back(number);
        if (room > count) rooms.insert({room - count, window});
      }
    }
  };

  std::shared_ptr<const Content> content_;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
