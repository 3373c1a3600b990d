// regimen/data/tokenizer/model.hpp — a tokenizer's tables, and the work of one thread, or of several, with them.
#pragma once

#include <regimen/data/on_threads.hpp>
#include <regimen/data/tokenizer/merges.hpp>
#include <regimen/data/tokenizer/parts.hpp>
#include <regimen/data/tokenizer/pattern.hpp>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace regimen::data::bpe {

/// Finds the leftmost of some texts, and at one place the longest.
///
/// cost     two reads a byte, in a text without any token's first two characters
class AddedTokens final {
 public:
  /// The tokens of `added` with this `normalized`; keeps pointers to them.
  AddedTokens(const std::vector<AddedToken>& added, bool normalized) {
    for (const AddedToken& token : added) {
      if (token.normalized != normalized || token.content.empty()) continue;
      const auto first = static_cast<unsigned char>(token.content[0]);
      by_first_[first].push_back(&token);
      if (token.content.size() > 1)
        begins_[first * std::size_t{256} + static_cast<unsigned char>(token.content[1])] = true;
      else
        for (std::size_t second = 0; second < 256; ++second) begins_[first * std::size_t{256} + second] = true;
      is_empty_ = false;
    }
  }

  /// The first token at or after `from`, and its begin; null: none.
  const AddedToken* find(std::string_view text, std::size_t from, std::size_t& begin) const {
    if (is_empty_) return nullptr;
    for (std::size_t at = from; at < text.size(); ++at) {
      const auto first = static_cast<unsigned char>(text[at]);
      if (by_first_[first].empty()) continue;
      if (at + 1 < text.size() && !begins_[first * std::size_t{256} + static_cast<unsigned char>(text[at + 1])])
        continue;
      const AddedToken* longest = nullptr;
      for (const AddedToken* const token : by_first_[first])
        if (text.substr(at).starts_with(token->content) &&
            (longest == nullptr || token->content.size() > longest->content.size()))
          longest = token;
      if (longest == nullptr) continue;
      begin = at;
      return longest;
    }
    return nullptr;
  }

 private:
  std::array<std::vector<const AddedToken*>, 256> by_first_{};
  std::bitset<std::size_t{256} * 256> begins_{};
  bool is_empty_ = true;
};

/// Everything that threads share; does not change.
struct Model final {
  explicit Model(Parts given)
      : parts(std::move(given)), merges(parts), first_added(parts.added, false), later_added(parts.added, true) {
    for (const Cut& cut : parts.cuts)
      patterns.emplace_back(cut.is_literal ? literal_pattern(cut.pattern) : cut.pattern,
                            parts.by_rank ? Dialect::Tiktoken : Dialect::Tokenizers, parts.name);
  }
  Parts parts;
  Merges merges;
  AddedTokens first_added, later_added;
  std::vector<Pattern> patterns{};
};

/// Caches the tokens of recent words. Each word has one slot; a later word of the slot replaces it.
///
/// cost     2 MiB; words of at most 26 bytes and 8 tokens
class WordCache final {
 public:
  static constexpr std::size_t longest = 26, most = 8;

  /// If the cache has a word's tokens, appends them to `out` and returns true.
  bool find(std::string_view word, std::uint64_t hash, std::vector<std::int32_t>& out) const {
    const Slot& slot = slots_[place(hash)];
    if (slot.tag != tag(hash) || slot.length != word.size() ||
        std::memcmp(slot.word.data(), word.data(), word.size()) != 0)
      return false;
    out.insert(out.end(), slot.ids.data(), slot.ids.data() + slot.count);
    return true;
  }
  void put(std::string_view word, std::uint64_t hash, const std::int32_t* ids, std::size_t count) {
    if (count > most) return;
    Slot& slot = slots_[place(hash)];
    slot.tag = tag(hash);
    slot.length = static_cast<std::uint8_t>(word.size());
    slot.count = static_cast<std::uint8_t>(count);
    std::memcpy(slot.word.data(), word.data(), word.size());
    std::memcpy(slot.ids.data(), ids, count * sizeof *ids);
  }

  /// For 1 to 26 bytes; collisions cost only time.
  static std::uint64_t hash(std::string_view word) {
    std::uint64_t state = word.size() * 0x9E3779B97F4A7C15u;
    const auto mix = [&state](std::uint64_t eight) {
      state = (state ^ eight) * 0xD6E8FEB86659FD93u;
      state ^= state >> 32;
    };
    const char* at = word.data();
    std::size_t left = word.size();
    for (; left > 8; left -= 8, at += 8) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, at, 8);
      mix(eight);
    }
    std::uint64_t last = 0;
    std::memcpy(&last, at, left);
    mix(last);
    return state * 0x9E3779B97F4A7C15u;
  }

 private:
  static constexpr int bits = 15;
  struct alignas(64) Slot {
    std::uint32_t tag = 0;
    std::uint8_t length = 0, count = 0;  // length 0: empty, as no word is
    std::array<char, longest> word;
    std::array<std::int32_t, most> ids;
  };
  static std::size_t place(std::uint64_t hash) { return static_cast<std::size_t>(hash >> (64 - bits)); }
  static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash); }
  std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << bits);
};

/// A match [begin, end) of the first pattern, searched at `from`; begin == end: none up to the text's end.
struct Match final {
  std::size_t from = 0, begin = 0, end = 0;
};

/// Cuts text into words, for one thread.
class Cutter final {
 public:
  Cutter(const std::vector<Pattern>& patterns, const std::vector<Cut>& cuts) : cuts_(&cuts) {
    for (const Pattern& pattern : patterns) matchers_.emplace_back(pattern);
  }

  /// Calls word(bytes) for the words whose search begins in [from, until) of `text`, valid UTF-8; returns the begin of
  /// the next search. From there the next call gets the same words, wherever the text was cut.
  ///
  ///   stage   the first pattern that cuts; those after it cut its pieces
  template <class Word>
  std::size_t cut(std::string_view text, std::size_t from, std::size_t until, Word&& word, std::size_t stage = 0) {
    if (stage == matchers_.size()) {
      word(text);
      return text.size();
    }
    while (from < until) {
      const Match found = find(text, from, stage);
      words(text, found, word, stage);
      from = found.end;
    }
    return from;
  }
  /// As cut, for a whole text of any bytes: bytes between parts of valid UTF-8 are words.
  template <class Word>
  void cut_bytes(std::string_view text, Word&& word) {
    for_each_part(text, [&](std::string_view valid) { cut(valid, 0, valid.size(), word); }, word);
  }

  bool cuts() const { return !matchers_.empty(); }
  /// The next match of a pattern.
  Match find(std::string_view text, std::size_t from, std::size_t stage = 0) {
    Match found{from, 0, 0};
    if (!matchers_[stage].find(text, from, found.begin, found.end)) found.begin = found.end = text.size();
    return found;
  }
  /// Calls word(bytes) for the words of a match, and of what lies before it.
  template <class Word>
  void words(std::string_view text, const Match& found, Word&& word, std::size_t stage = 0) {
    const auto further = [&](std::size_t begin, std::size_t end) {
      if (end > begin) cut(text.substr(begin, end - begin), 0, end - begin, word, stage + 1);
    };
    if (!(*cuts_)[stage].drops_rest) further(found.from, found.begin);
    further(found.begin, found.end);
  }

 private:
  const std::vector<Cut>* cuts_;
  std::vector<Matcher> matchers_{};
};

/// One thread's work: cuts text into words, and words into tokens.
class Encoder final {
 public:
  explicit Encoder(const Model& model) : model_(&model), cutter_(model.patterns, model.parts.cuts) {}

  Cutter& cutter() { return cutter_; }
  /// Appends the tokens of words; see Cutter.
  std::size_t encode(std::string_view text, std::size_t from, std::size_t until, std::vector<std::int32_t>& out) {
    return cutter_.cut(text, from, until, [&](std::string_view bytes) { word(bytes, out); });
  }
  void encode(std::string_view text, const Match& found, std::vector<std::int32_t>& out) {
    cutter_.words(text, found, [&](std::string_view bytes) { word(bytes, out); });
  }
  void word(std::string_view bytes, std::vector<std::int32_t>& out) {
    if (bytes.size() > WordCache::longest) return model_->merges.encode(bytes, scratch_, out);
    const std::uint64_t hash = WordCache::hash(bytes);
    if (cache_.find(bytes, hash, out)) return;
    const std::size_t before = out.size();
    model_->merges.encode(bytes, scratch_, out);
    cache_.put(bytes, hash, out.data() + before, out.size() - before);
  }

 private:
  const Model* model_;
  Cutter cutter_;
  MergeScratch scratch_{};
  WordCache cache_{};
};

/// The unused encoders of a tokenizer; they keep their caches.
class Encoders final {
 public:
  explicit Encoders(const Model& model) : model_(&model) {}

  struct Deleter {
    Encoders* to;
    void operator()(Encoder* encoder) const noexcept { to->give_back(std::unique_ptr<Encoder>(encoder)); }
  };
  using Lease = std::unique_ptr<Encoder, Deleter>;

  Lease lease() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Lease encoder(idle_.back().release(), Deleter{this});
        idle_.pop_back();
        return encoder;
      }
    }
    return Lease(new Encoder(*model_), Deleter{this});
  }

 private:
  void give_back(std::unique_ptr<Encoder> encoder) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(encoder));
    } catch (...) {}  // no memory: the encoder is gone, and made again
  }

  const Model* model_;
  std::mutex mutex_{};
  std::vector<std::unique_ptr<Encoder>> idle_{};
};

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
