// regimen/data/train_tokenizer.hpp — a vocabulary learned from texts.
#pragma once

#include <regimen/data/report.hpp>
#include <regimen/data/tokenizer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace regimen::data {

struct TokenizerTraining {
  std::size_t vocabulary = 0;            // tokens in all: the specials, 256 bytes, and what is merged
  std::string pattern = patterns::gpt2;  // cuts the texts into words
  std::vector<std::string> specials{};   // the first ids
  std::size_t least_count = 0;           // of a pair that is merged
  Report report{};                       // "words": bytes of text; "merges": tokens of the vocabulary
};

namespace bpe {

/// The pairs of neighbours in all words, and the next one to merge.
class PairCounts final {
 public:
  using Pair = std::uint64_t;  // first << 32 | second
  static Pair pair_of(std::uint32_t first, std::uint32_t second) { return Pair{first} << 32 | second; }

  struct Candidate {
    std::int64_t count = 0;
    Pair pair = 0;
    std::vector<std::uint32_t> words{};  // that may contain it
  };

  /// `word` has this pair `change` times more.
  void add(Pair pair, std::int64_t change, std::uint32_t word) {
    counts_[pair] += change;
    if (change <= 0) return;
    std::vector<std::uint32_t>& words = changed_[pair];
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  /// The pairs that words have gained since the last call become candidates.
  void collect() {
    for (auto& [pair, words] : changed_) {
      const std::int64_t count = counts_[pair];
      if (count <= 0) continue;
      queue_.push_back({count, pair, std::move(words)});
      std::push_heap(queue_.begin(), queue_.end(), is_later);
    }
    changed_.clear();
  }
  /// The most frequent pair; among equally frequent pairs the one with the smallest ids. False: no pair occurs `least`
  /// times.
  bool take(std::size_t least, Candidate& best) {
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), is_later);
      best = std::move(queue_.back());
      queue_.pop_back();
      const std::int64_t count = counts_[best.pair];
      if (count == best.count) return count >= 1 && static_cast<std::uint64_t>(count) >= least;
      best.count = count;  // counts change while candidates wait
      queue_.push_back(std::move(best));
      std::push_heap(queue_.begin(), queue_.end(), is_later);
    }
    return false;
  }

 private:
  static bool is_later(const Candidate& a, const Candidate& b) {
    return a.count != b.count ? a.count < b.count : a.pair > b.pair;
  }
  std::unordered_map<Pair, std::int64_t> counts_{};
  std::unordered_map<Pair, std::vector<std::uint32_t>> changed_{};
  std::vector<Candidate> queue_{};
};

/// A word of the texts as tokens.
struct CountedWord final {
  std::vector<std::uint32_t> tokens{};
  std::int64_t count = 0;

  /// Joins every `first` with the `second` that follows it, from the left.
  void merge(std::uint32_t first, std::uint32_t second, std::uint32_t whole, std::uint32_t index, PairCounts& counts) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < tokens.size(); ++kept) {
      if (tokens[i] != first || i + 1 == tokens.size() || tokens[i + 1] != second) {
        tokens[kept] = tokens[i++];
        continue;
      }
      if (kept > 0) {
        counts.add(PairCounts::pair_of(tokens[kept - 1], first), -count, index);
        counts.add(PairCounts::pair_of(tokens[kept - 1], whole), count, index);
      }
      i += 2;
      if (i < tokens.size()) {
        counts.add(PairCounts::pair_of(second, tokens[i]), -count, index);
        counts.add(PairCounts::pair_of(whole, tokens[i]), count, index);
      }
      tokens[kept] = whole;
    }
    tokens.resize(kept);
  }
};

/// The words of the texts and how often each occurs.
inline std::unordered_map<std::string, std::int64_t> count_words(std::span<const std::string_view> texts,
                                                                 const TokenizerTraining& options) {
  const std::vector<Cut> cuts{{.pattern = options.pattern}};
  const std::vector<Pattern> compiled{Pattern(options.pattern, Dialect::Tokenizers, "TokenizerTraining")};
  Cutter cutter(compiled, cuts);
  std::unordered_map<std::string, std::int64_t> words;
  std::size_t all = 0, done = 0;
  for (const std::string_view text : texts) all += text.size();
  for (const std::string_view text : texts) {
    std::size_t next = done;
    cutter.cut_bytes(text, [&](std::string_view word) {
      ++words[std::string(word)];
      done += word.size();
      if (options.report && done >= next) options.report("words", done, all), next = done + (std::size_t{1} << 22);
    });
  }
  return words;
}

/// The tokens of a vocabulary that is trained: special ones, then the bytes, then merges.
class Vocabulary final {
 public:
  explicit Vocabulary(const TokenizerTraining& options) {
    parts_.name = "trained vocabulary";
    parts_.cuts.push_back({.pattern = options.pattern});
    for (const std::string& special : options.specials) {
      Token token{.kind = Token::Bytes, .special = true};
      if (!from_characters(special, token.bytes)) token.bytes = special, token.kind = Token::Text;
      const bool is_right = token.bytes.size() > 1 && is_utf8(special);
      if (!is_right || !put(special, token))
        throw Error("TokenizerTraining, specials", "different texts of two characters and more", "'" + special + "'");
      parts_.added.push_back({.content = special, .id = static_cast<std::int32_t>(size() - 1)});
    }
    std::vector<unsigned> bytes(256);  // in the order of the characters that stand for them
    std::iota(bytes.begin(), bytes.end(), 0u);
    std::ranges::sort(bytes, {}, [](unsigned byte) { return byte_characters[byte]; });
    for (const unsigned byte : bytes) {
      const std::string text(1, static_cast<char>(byte));
      id_of_byte_[byte] = static_cast<std::uint32_t>(size());
      put(to_characters(text), {.bytes = text, .kind = Token::Bytes});
    }
  }

  std::size_t size() const { return parts_.tokens.size(); }
  std::uint32_t id_of(char byte) const { return id_of_byte_[static_cast<unsigned char>(byte)]; }
  /// The id of the two as one: of a new token, or of an older token or special with the same text.
  std::uint32_t merge(std::uint32_t first, std::uint32_t second) {
    const std::string merged = parts_.tokens[first].bytes + parts_.tokens[second].bytes, text = to_characters(merged);
    put(text, {.bytes = merged, .kind = Token::Bytes});
    const std::uint32_t whole = ids_.at(text);
    parts_.merges.push_back({first, second, whole});
    return whole;
  }
  Parts parts() && { return std::move(parts_); }

 private:
  bool put(const std::string& text, Token token) {
    const bool is_new = ids_.emplace(text, static_cast<std::uint32_t>(size())).second;
    if (is_new) parts_.tokens.push_back(std::move(token));
    return is_new;
  }

  Parts parts_;
  std::unordered_map<std::string, std::uint32_t> ids_;  // by the text in a file; a special's may equal merged bytes'
  std::array<std::uint32_t, 256> id_of_byte_{};
};

}  // namespace bpe

/// Learns a vocabulary from bytes: again and again the most frequent pair of neighbours in a word becomes a token. The
/// merges are those of tokenizers' BpeTrainer with initial_alphabet=ByteLevel.alphabet(), the specials, and the
/// pattern as pre-tokenizer, on the same texts: among equally frequent pairs the pair with the smallest ids comes
/// first. If the texts have no more pairs before the vocabulary is full, the vocabulary is smaller.
///
/// failure  Error for a vocabulary below the specials and 256 bytes, or above 2^21 - 2; for special tokens that are
///          empty, a single byte's, no UTF-8, or given twice; for a pattern, as Tokenizer
/// cost     the distinct words of the texts and their pairs in memory; one thread
inline Tokenizer train_tokenizer(std::span<const std::string_view> texts, const TokenizerTraining& options) {
  using bpe::PairCounts;
  const std::string where = "TokenizerTraining";
  if (options.vocabulary < options.specials.size() + 256 || options.vocabulary >= bpe::most_tokens)
    throw Error(where + ", vocabulary",
                std::to_string(options.specials.size() + 256) + " to " + std::to_string(bpe::most_tokens - 1),
                std::to_string(options.vocabulary), "specials and bytes are tokens, too");

  bpe::Vocabulary vocabulary(options);
  std::vector<bpe::CountedWord> words;
  PairCounts pairs;
  for (const auto& [text, count] : bpe::count_words(texts, options)) {
    if (words.size() >= ~std::uint32_t{0})
      throw Error(where, "fewer than 2^32 different words", "more", "give fewer texts");
    const auto index = static_cast<std::uint32_t>(words.size());
    bpe::CountedWord word{.count = count};
    for (const char byte : text) word.tokens.push_back(vocabulary.id_of(byte));
    for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i)
      pairs.add(PairCounts::pair_of(word.tokens[i], word.tokens[i + 1]), count, index);
    words.push_back(std::move(word));
  }
  pairs.collect();

  PairCounts::Candidate best;
  while (vocabulary.size() < options.vocabulary && pairs.take(options.least_count, best)) {
    const auto first = static_cast<std::uint32_t>(best.pair >> 32), second = static_cast<std::uint32_t>(best.pair);
    const std::uint32_t whole = vocabulary.merge(first, second);
    for (const std::uint32_t word : best.words) words[word].merge(first, second, whole, word, pairs);
    pairs.collect();
    if (options.report) options.report("merges", vocabulary.size(), options.vocabulary);
  }
  return Tokenizer(std::move(vocabulary).parts());
}

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
