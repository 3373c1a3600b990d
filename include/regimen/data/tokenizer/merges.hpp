// regimen/data/tokenizer/merges.hpp — the bytes of a word become tokens: byte-pair encoding.
#pragma once

#include <regimen/data/tokenizer/parts.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace regimen::data::bpe {

/// The rank of a pair of tokens. Open addressing; a slot is first (21 bits), second (21), rank (22).
class PairTable final {
 public:
  static constexpr std::uint32_t none = most_ranks;

  explicit PairTable(std::size_t pairs = 0) {
    const std::size_t slots = std::bit_ceil(std::max<std::size_t>(16, 2 * pairs));
    shift_ = 64 - std::countr_zero(slots);
    slots_.assign(slots, free);
  }
  /// The last rank of a pair counts.
  void put(std::uint32_t first, std::uint32_t second, std::uint32_t rank) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    const std::uint64_t key = key_of(first, second);
    std::uint64_t& slot = slots_[place(key)];
    used_ += slot == free;
    slot = key << 22 | rank;
  }
  std::uint32_t find(std::uint32_t first, std::uint32_t second) const {
    return static_cast<std::uint32_t>(slots_[place(key_of(first, second))] & most_ranks);  // of a free slot: none
  }

 private:
  static constexpr std::uint64_t free = ~std::uint64_t{0};  // no pair: ids are below 2^21 - 1
  static std::uint64_t key_of(std::uint32_t first, std::uint32_t second) { return std::uint64_t{first} << 21 | second; }
  /// The slot of a key, or the free one that it would get.
  std::size_t place(std::uint64_t key) const {
    std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    auto at = static_cast<std::size_t>((hash * 0xD6E8FEB86659FD93u) >> shift_);
    while (slots_[at] >> 22 != key && slots_[at] != free) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<std::uint64_t> old(2 * slots_.size(), free);
    old.swap(slots_);
    --shift_;
    for (const std::uint64_t slot : old)
      if (slot != free) slots_[place(slot >> 22)] = slot;
  }
  std::vector<std::uint64_t> slots_{};
  std::size_t used_ = 0;
  int shift_ = 0;
};

/// The memory to merge long words, kept from word to word.
struct MergeScratch final {
  std::vector<std::uint32_t> ids{}, ranks{}, next{}, previous{};
  std::vector<std::uint64_t> heap{};
};

/// Bytes to tokens. Among the neighbours in a word that a merge joins, the pair of the lowest rank becomes one token,
/// the leftmost first, until no merge joins any.
///
/// cost     n² comparisons for a word of n ≤ 48 bytes, else n log n
/// source   Sennrich et al. 2016; the merges' order as tokenizers and tiktoken have it
class Merges final {
 public:
  /// `parts` must not move.
  explicit Merges(const Parts& parts) : name_(parts.name), whole_words_(parts.whole_words) {
    byte_ids_.fill(-1);
    ids_.reserve(parts.tokens.size());
    for (std::size_t id = 0; id < parts.tokens.size(); ++id) {
      const Token& token = parts.tokens[id];
      if (token.kind != Token::Bytes) continue;
      ids_.emplace(token.bytes, static_cast<std::int32_t>(id));
      if (token.bytes.size() == 1)
        byte_ids_[static_cast<unsigned char>(token.bytes[0])] = static_cast<std::int32_t>(id);
    }
    if (parts.by_rank) put_ranks(parts);
    else put_merges(parts);
    for (std::size_t first = 0; first < 256; ++first)
      for (std::size_t second = 0; second < 256; ++second)
        byte_ranks_[first * 256 + second] = byte_ids_[first] < 0 || byte_ids_[second] < 0
                                                ? PairTable::none
                                                : pairs_.find(static_cast<std::uint32_t>(byte_ids_[first]),
                                                              static_cast<std::uint32_t>(byte_ids_[second]));
  }
  Merges(const Merges&) = delete;
  Merges& operator=(const Merges&) = delete;

  /// The token of exactly these bytes; -1: none.
  std::int32_t find(std::string_view bytes) const {
    const auto found = ids_.find(bytes);
    return found == ids_.end() ? -1 : found->second;
  }

  /// Appends the tokens of a word.
  void encode(std::string_view word, MergeScratch& scratch, std::vector<std::int32_t>& out) const {
    if (whole_words_)
      if (const std::int32_t whole = find(word); whole >= 0) return out.push_back(whole);
    if (word.size() <= most_short) encode_short(word, out);
    else encode_long(word, scratch, out);
  }

 private:
  static constexpr std::size_t most_short = 48;
  static constexpr std::uint32_t none = PairTable::none;

  void put_merges(const Parts& parts) {
    if (parts.merges.size() > most_ranks - 1)
      throw Error(parts.name, "at most " + std::to_string(most_ranks - 1) + " merges",
                  std::to_string(parts.merges.size()));
    pairs_ = PairTable(parts.merges.size());
    result_.reserve(parts.merges.size());
    for (const auto& [first, second, whole] : parts.merges) {
      pairs_.put(first, second, static_cast<std::uint32_t>(result_.size()));
      result_.push_back(whole);
    }
  }
  /// Every way to cut a token into two tokens is a merge with its rank.
  void put_ranks(const Parts& parts) {
    result_.resize(parts.tokens.size());
    for (std::size_t id = 0; id < parts.tokens.size(); ++id) {
      const Token& token = parts.tokens[id];
      result_[id] = static_cast<std::uint32_t>(id);
      if (token.kind != Token::Bytes) continue;
      for (std::size_t cut = 1; cut < token.bytes.size(); ++cut) {
        const std::int32_t first = find(std::string_view(token.bytes).substr(0, cut));
        const std::int32_t second = first < 0 ? -1 : find(std::string_view(token.bytes).substr(cut));
        if (second >= 0)
          pairs_.put(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second),
                     static_cast<std::uint32_t>(id));
      }
    }
  }

  std::uint32_t byte_id(char byte) const {
    const std::int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id < 0) [[unlikely]]
      refuse_byte(byte);
    return static_cast<std::uint32_t>(id);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_byte(char byte) const {
    throw Error(name_, "a token for every byte of the text",
                "none for byte " + std::to_string(static_cast<unsigned char>(byte)),
                "train the vocabulary with all 256 bytes (initial_alphabet=ByteLevel.alphabet())");
  }
  std::uint32_t byte_rank(char first, char second) const {
    return byte_ranks_[std::size_t{static_cast<unsigned char>(first)} * 256 + static_cast<unsigned char>(second)];
  }

  void encode_short(std::string_view word, std::vector<std::int32_t>& out) const {
    std::array<std::uint32_t, most_short> ids, ranks;
    std::size_t count = word.size();
    for (std::size_t i = 0; i < count; ++i) {
      ids[i] = byte_id(word[i]);
      ranks[i] = i + 1 < count ? byte_rank(word[i], word[i + 1]) : none;
    }
    while (count > 1) {
      std::size_t best = 0;
      for (std::size_t i = 1; i + 1 < count; ++i)
        if (ranks[i] < ranks[best]) best = i;
      if (ranks[best] == none) break;
      ids[best] = result_[ranks[best]];
      --count;
      std::memmove(ids.data() + best + 1, ids.data() + best + 2, (count - best - 1) * sizeof ids[0]);
      std::memmove(ranks.data() + best, ranks.data() + best + 1, (count - best) * sizeof ranks[0]);
      ranks[best] = best + 1 < count ? pairs_.find(ids[best], ids[best + 1]) : none;
      if (best > 0) ranks[best - 1] = pairs_.find(ids[best - 1], ids[best]);
    }
    for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<std::int32_t>(ids[i]));
  }

  /// As encode_short, with a heap of (rank, place). An entry counts while the pair at its place has its rank.
  void encode_long(std::string_view word, MergeScratch& s, std::vector<std::int32_t>& out) const {
    const std::size_t count = word.size();
    if (count >= ~std::uint32_t{0})
      throw Error(name_, "words of less than 4 GiB", std::to_string(count) + " bytes",
                  "cut the text, or use another pattern");
    const auto end = static_cast<std::uint32_t>(count);
    s.ids.resize(count), s.ranks.resize(count), s.next.resize(count), s.previous.resize(count);
    s.heap.clear();
    for (std::uint32_t i = 0; i < end; ++i) {
      s.ids[i] = byte_id(word[i]);
      s.next[i] = i + 1, s.previous[i] = i - 1;  // the first has none: 2^32 - 1
      s.ranks[i] = i + 1 < end ? byte_rank(word[i], word[i + 1]) : none;
      if (s.ranks[i] != none) s.heap.push_back(std::uint64_t{s.ranks[i]} << 32 | i);
    }
    const auto later = [](std::uint64_t a, std::uint64_t b) { return a > b; };
    std::make_heap(s.heap.begin(), s.heap.end(), later);
    const auto look = [&](std::uint32_t at) {
      s.ranks[at] = s.next[at] < end ? pairs_.find(s.ids[at], s.ids[s.next[at]]) : none;
      if (s.ranks[at] == none) return;
      s.heap.push_back(std::uint64_t{s.ranks[at]} << 32 | at);
      std::push_heap(s.heap.begin(), s.heap.end(), later);
    };
    while (!s.heap.empty()) {
      const std::uint64_t top = s.heap.front();
      std::pop_heap(s.heap.begin(), s.heap.end(), later);
      s.heap.pop_back();
      const auto rank = static_cast<std::uint32_t>(top >> 32), at = static_cast<std::uint32_t>(top);
      if (s.ranks[at] != rank) continue;
      const std::uint32_t gone = s.next[at];
      s.ids[at] = result_[rank];
      s.ranks[gone] = none;
      s.next[at] = s.next[gone];
      if (s.next[at] < end) s.previous[s.next[at]] = at;
      look(at);
      if (s.previous[at] < end) look(s.previous[at]);
    }
    for (std::uint32_t i = 0; i < end; i = s.next[i]) out.push_back(static_cast<std::int32_t>(s.ids[i]));
  }

  std::string name_;
  bool whole_words_;
  std::array<std::int32_t, 256> byte_ids_{};
  std::vector<std::uint32_t> byte_ranks_ = std::vector<std::uint32_t>(std::size_t{256} * 256);
  PairTable pairs_{};
  std::vector<std::uint32_t> result_{};  // by rank: what the pair becomes
  std::unordered_map<std::string_view, std::int32_t> ids_{};
};

}  // namespace regimen::data::bpe
// SPDX-License-Identifier: Apache-2.0
