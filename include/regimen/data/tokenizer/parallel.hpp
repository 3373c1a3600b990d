// regimen/data/tokenizer/parallel.hpp — one text by several threads, with the tokens that one thread gives.
#pragma once

#include <regimen/data/on_threads.hpp>
#include <regimen/data/tokenizer/model.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace regimen::data::bpe {

/// Cuts valid UTF-8 by several threads. Each begins somewhere, as if a word began there. A match depends only on the
/// text and on the place of the search. So from the first common place of the thread before and of this thread all
/// matches are those of one thread; earlier matches of this thread are dropped. A pattern whose words never meet
/// (digits in threes) is slow, not wrong.
class ParallelCut final {
 public:
  ParallelCut(const std::vector<Encoders::Lease>& encoders, std::string_view text, std::size_t block)
      : encoders_(encoders), text_(text), block_(block), parts_(encoders.size()) {}

  /// Gives `sink` the tokens of the next blocks, one for each thread, in order; returns the end of the done text.
  template <class Sink>
  std::size_t round(std::size_t from, const Sink& sink) {
    const std::size_t threads = parts_.size();
    std::size_t used = 0, at = from;
    for (; used < threads && at < text_.size(); ++used) {
      parts_[used].begin = at;
      at = text_.size() - at <= block_ ? text_.size() : character_begin(text_, at + block_);
      parts_[used].end = at;
    }
    data::detail::on_threads(
        used, threads, [&](std::size_t thread, std::size_t i) { search(encoders_[thread]->cutter(), parts_[i]); });
    std::size_t done = from;
    for (std::size_t i = 0; i < used; ++i) done = join(encoders_[0]->cutter(), parts_[i], done);
    data::detail::on_threads(used, threads, [&](std::size_t thread, std::size_t i) {
      Part& part = parts_[i];
      part.ids.clear();
      for (const Match& found : part.mended) encoders_[thread]->encode(text_, found, part.ids);
      for (std::size_t j = part.first; j < part.found.size(); ++j)
        encoders_[thread]->encode(text_, part.found[j], part.ids);
    });
    for (std::size_t i = 0; i < used; ++i) sink(parts_[i].ids);
    return done;
  }

 private:
  struct Part {
    std::size_t begin = 0, end = 0, first = 0;  // first: of `found`, that one thread finds, too
    std::vector<Match> found{}, mended{};       // mended: what one thread finds before it
    std::vector<std::int32_t> ids{};
  };

  void search(Cutter& cutter, Part& part) const {
    part.found.clear();
    for (std::size_t from = part.begin; from < part.end; from = part.found.back().end)
      part.found.push_back(cutter.find(text_, from));
  }
  /// One thread's search begins at `at`; returns where it begins after this part.
  std::size_t join(Cutter& cutter, Part& part, std::size_t at) const {
    part.mended.clear();
    part.first = 0;
    while (at < part.end) {
      while (part.first < part.found.size() && part.found[part.first].from < at) ++part.first;
      if (part.first < part.found.size() && part.found[part.first].from == at) return part.found.back().end;
      part.mended.push_back(cutter.find(text_, at));
      at = part.mended.back().end;
    }
    part.first = part.found.size();
    return at;
  }

  const std::vector<Encoders::Lease>& encoders_;
  std::string_view text_;
  std::size_t block_;
  std::vector<Part> parts_;
};

}  // namespace regimen::data::bpe
// SPDX-License-Identifier: Apache-2.0
