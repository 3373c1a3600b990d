// regimen/kernel/embedding.hpp — a table of vectors looked up by token, and its gradient in the order of the tokens.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace regimen::kernel {

/// A token outside the vocabulary gives a row of NaN; nothing outside the table is read.
template <class T>
struct Kernel<op::Embed<T>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<T>;
  op::Embed<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count * o.columns / width + 1, threads); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    if (o.columns % width == 0 && are_aligned(at(o.table), at(o.y))) rows<width>(block);
    else rows<1>(block);
  }

 private:
  REGIMEN_HD_UNCHECKED
  template <unsigned n, class Block>
  REGIMEN_HD void rows(const Block& block) const {
    const std::int32_t* const token = at(o.token);
    const T* const table = at(o.table);
    T* const y = at(o.y);
    constexpr statistic_t<T> nan = std::numeric_limits<statistic_t<T>>::quiet_NaN();
    const std::size_t packs = o.columns / n;
    for_pieces(block, o.count * packs, [&](std::size_t piece) {
      const std::size_t row =
          static_cast<std::uint32_t>(token[piece / packs]);  // a negative token becomes a very large one
      Pack<T, n> values;
      if (row < o.vocabulary) {
        values = detail::read<n>(table + row * o.columns + piece % packs * n);
      } else {
        for (unsigned k = 0; k < n; ++k) values.at[k] = static_cast<T>(nan);
      }
      detail::write(values, y + piece * n);
    });
  }
};

/// The order of tokens by (row of the table, place), without an atomic: a radix sort of places, which keeps the order
/// of equals, the least digit first. Two launches a digit, as many digits as the vocabulary needs: the first counts the
/// digit's values in each chunk of tokens; the second puts each token behind the smaller values, and its equals in the
/// chunks before and in its own. Inside a chunk a tile of tokens is ranked at a time, each beside all others of it,
/// which takes no counters for each thread and is as long for digits of nine bits as for those of four. Few tokens are
/// few chunks, of which each launch takes the time of one: they need no way of their own. Tokens outside the vocabulary
/// come last.
///
/// cost      for each token and digit some 800 comparisons, and for each block the counts of at most 128 chunks:
///           O(count)
///           scratch: at most 8 · count + 8 · vocabulary bytes and, up to 2^27 words, 2^18
struct TokenOrder final {
  static constexpr unsigned threads = 256, tile = 256, most_chunks = 128;
  static constexpr unsigned most_digits = 3, usual_bits = 9, most_values = 1u << 11;  // 11: a third of 32 bits
  static constexpr unsigned launches = 2 * most_digits;
  static constexpr std::size_t shared_bytes = (2 * most_values + 2 * tile) * sizeof(std::uint32_t);
  std::size_t count, vocabulary;
  std::uint32_t* scratch = nullptr;

  /// Of the numbers from 0 to the vocabulary's size, the row of a token outside.
  REGIMEN_HD constexpr unsigned bits() const {
    unsigned all = 1;
    while (all < 32 && vocabulary >> all > 0) ++all;
    return all;
  }
  REGIMEN_HD constexpr unsigned digits() const {
    return bits() <= usual_bits ? 1 : bits() <= 2 * usual_bits ? 2 : most_digits;
  }
  REGIMEN_HD constexpr unsigned digit_bits() const { return (bits() + digits() - 1) / digits(); }
  /// Tokens of a chunk: whole tiles; only the last chunk has fewer.
  REGIMEN_HD constexpr std::size_t chunk() const {
    constexpr std::size_t of_all = std::size_t{tile} * most_chunks;
    return count <= of_all ? std::size_t{tile} : (count + of_all - 1) / of_all * tile;
  }
  REGIMEN_HD constexpr unsigned chunks() const { return static_cast<unsigned>((count + chunk() - 1) / chunk()); }
  constexpr std::size_t bytes() const {
    return ((digits() > 1 ? 2 : 1) * count + 2 * vocabulary + (std::size_t{chunks()} << digit_bits())) *
           sizeof(std::uint32_t);
  }

  /// The places in order of the digits up to this one: (count).
  REGIMEN_HD std::uint32_t* order(unsigned digit) const { return scratch + digit % 2 * count; }
  /// Of each row, where its tokens begin and end in the order of all digits: (vocabulary) each.
  REGIMEN_HD std::uint32_t* begin() const { return scratch + (digits() > 1 ? 2 : 1) * count; }
  REGIMEN_HD std::uint32_t* end() const { return begin() + vocabulary; }
  /// How often each value of a digit stands in each chunk: (chunks, values).
  REGIMEN_HD std::uint32_t* counts() const { return end() + vocabulary; }
};

/// A digit's first launch, which only counts, or its second.
template <bool only_counts>
struct OrderTokens final {
  static constexpr unsigned threads = TokenOrder::threads;
  static constexpr std::size_t shared_bytes = TokenOrder::shared_bytes;
  struct Operation {
    static constexpr const char* name = "embedding_backward";
    View<std::int32_t> token;
    std::size_t count = 0, vocabulary = 0;
    unsigned digit = 0;
  } o{};
  Memory at;

  constexpr unsigned blocks() const {
    const TokenOrder all{o.count, o.vocabulary};
    if (o.digit >= all.digits()) return 0;
    if constexpr (only_counts)
      if (const unsigned of_rows = blocks_for(o.vocabulary, threads); o.digit == 0 && of_rows > all.chunks())
        return of_rows;
    return all.chunks();
  }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    constexpr unsigned tile = TokenOrder::tile, none = ~0u;
    const unsigned digit = o.digit;
    const std::int32_t* const token = at(o.token);
    const TokenOrder all{o.count, o.vocabulary, at.template scratch_of<std::uint32_t>()};
    if (only_counts && digit == 0)  // no token names a row, unless a later launch finds one
      for_pieces(block, o.vocabulary, [&](std::size_t row) { all.begin()[row] = all.end()[row] = 0; });
    const unsigned bits = all.digit_bits(), values = 1u << bits, chunks = all.chunks();
    const std::size_t size = all.chunk();
    const std::uint32_t* const before = all.order(digit + 1);  // the other of two: by the digits below
    const auto place_of = [&](std::size_t i) { return digit == 0 ? static_cast<std::uint32_t>(i) : before[i]; };
    // next: for each value, the place that its next token takes; in the first launch, how many there are
    const auto next = block.template shared<std::uint32_t>(0, values);
    const auto digits = block.template shared<std::uint32_t>(TokenOrder::most_values * sizeof(std::uint32_t), tile),
               taken =
                   block.template shared<std::uint32_t>((TokenOrder::most_values + tile) * sizeof(std::uint32_t), tile);
    for (unsigned chunk = block.index(); chunk < chunks; chunk += block.blocks()) {
      if constexpr (only_counts) {
        for (unsigned value = block.thread(); value < values; value += block.threads()) next[value] = 0;
      } else {
        find_places(block, all, chunk, next);
      }
      const std::size_t end = (chunk + 1) * size < o.count ? (chunk + 1) * size : o.count;
      for (std::size_t first = chunk * size; first < end; first += tile) {
        const unsigned here = end - first < tile ? static_cast<unsigned>(end - first) : tile;
        for (unsigned t = block.thread(); t < tile; t += block.threads()) {
          std::uint32_t row = none;
          if (t < here) {
            row = static_cast<std::uint32_t>(token[place_of(first + t)]);
            row = (row < o.vocabulary ? row : static_cast<std::uint32_t>(o.vocabulary)) >> digit * bits & (values - 1);
          }
          digits[t] = row;
        }
        block.sync();
        if constexpr (only_counts) {
          for (unsigned value = block.thread(); value < values; value += block.threads())
            next[value] = next[value] + count_of(value, digits, tile);
        } else {
          for (unsigned t = block.thread(); t < here; t += block.threads()) {
            const std::uint32_t own = digits[t], earlier = count_of(own, digits, t),
                                equal = count_of(own, digits, tile);
            all.order(digit)[next[own] + earlier] = place_of(first + t);
            taken[t] = earlier + 1 == equal ? equal : 0;  // the last of its value speaks for all
          }
        }
        block.sync();
        if constexpr (!only_counts)
          for (unsigned t = block.thread(); t < here; t += block.threads())
            if (taken[t] > 0) next[digits[t]] = next[digits[t]] + taken[t];
      }
      block.sync();
      if constexpr (only_counts)
        for (unsigned value = block.thread(); value < values; value += block.threads())
          all.counts()[std::size_t{chunk} * values + value] = next[value];
    }
  }

 private:
  /// Among the first `count` of a tile.
  REGIMEN_HD_UNCHECKED
  template <class Digits>
  REGIMEN_HD static std::uint32_t count_of(std::uint32_t value, const Digits& digits, unsigned count) {
    std::uint32_t found = 0;
    for (unsigned t = 0; t < count; ++t) found += digits[t] == value ? 1 : 0;
    return found;
  }
  /// Where the chunk's first token of each value belongs: behind all smaller ones, and its equals in chunks before.
  REGIMEN_HD_UNCHECKED
  template <class Block, class Next>
  REGIMEN_HD void find_places(const Block& block, const TokenOrder& all, unsigned chunk, const Next& next) const {
    constexpr unsigned at_once = 16;  // loads
    const unsigned values = 1u << all.digit_bits(), chunks = all.chunks();
    const std::uint32_t* const counts = all.counts();
    const auto totals = block.template shared<std::uint32_t>(
        (TokenOrder::most_values + 2 * TokenOrder::tile) * sizeof(std::uint32_t), values);
    for (unsigned value = block.thread(); value < values; value += block.threads()) {
      std::uint32_t total = 0, before = 0;
      for (unsigned first = 0; first < chunks; first += at_once) {
        for (unsigned k = 0; k < at_once; ++k) {
          const unsigned other = first + k;
          const std::uint32_t found = other < chunks ? counts[std::size_t{other} * values + value] : 0;
          total += found;
          before += other < chunk ? found : 0;
        }
      }
      totals[value] = total;
      next[value] = before;
    }
    block.sync();
    for (unsigned value = block.thread(); value < values; value += block.threads()) {
      std::uint32_t smaller = 0;
      for (unsigned other = 0; other < value; ++other) smaller += static_cast<std::uint32_t>(totals[other]);
      next[value] = next[value] + smaller;
    }
  }
};

/// The gradient of a table: the order of the tokens; the range of each row of the table in that order; then a thread
/// for 16 bytes of each row, which adds its range in order and rounds once: the additions of the CPU engine. Tokens
/// outside the vocabulary add nothing, nor does the padding token.
///
/// cost   the order's, in two to six launches; d_y is read and the table written once. The row of the most frequent
///        token is the longest sum that one thread makes, sixteen loads at a time; a small table has a thread for 4
///        bytes and 32 loads at a time
template <class T, class G, unsigned pass>
  requires(pass < TokenOrder::launches)
struct Kernel<op::EmbedBackward<T, G>, pass> final {
  using OrderLaunch = OrderTokens<pass % 2 == 0>;
  static constexpr unsigned passes = TokenOrder::launches + 2, threads = OrderLaunch::threads;
  static constexpr std::size_t shared_bytes = OrderLaunch::shared_bytes;
  op::EmbedBackward<T, G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::EmbedBackward<T, G>& operation) {
    return TokenOrder{operation.count, operation.vocabulary}.bytes();
  }
  /// Whatever T, G and the digit are.
  REGIMEN_HD constexpr OrderLaunch as_launched() const {
    return {{.token = o.token, .count = o.count, .vocabulary = o.vocabulary, .digit = pass / 2}, at};
  }
  constexpr unsigned blocks() const { return as_launched().blocks(); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    as_launched()(block);
  }
};

template <class T, class G>
REGIMEN_HD constexpr std::size_t pieces(const op::EmbedBackward<T, G>& o, Launch<TokenOrder::launches>) {
  return o.count;
}
template <class T, class G>
REGIMEN_HD void compute(const op::EmbedBackward<T, G>& o, const Memory& at, std::size_t place,
                        Launch<TokenOrder::launches>) {
  const std::int32_t* const token = at(o.token);
  const TokenOrder all{o.count, o.vocabulary, at.template scratch_of<std::uint32_t>()};
  const std::uint32_t* const order = all.order(all.digits() - 1);
  const std::int32_t own = token[order[place]];
  const std::size_t row = static_cast<std::uint32_t>(own);
  if (row >= o.vocabulary || own == o.padding) return;
  if (place == 0 || token[order[place - 1]] != own) all.begin()[row] = static_cast<std::uint32_t>(place);
  if (place + 1 == o.count || token[order[place + 1]] != own) all.end()[row] = static_cast<std::uint32_t>(place + 1);
}

template <class T, class G>
struct Kernel<op::EmbedBackward<T, G>, TokenOrder::launches + 1> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128, resident = 4, width = pack_of<T>, narrow = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  op::EmbedBackward<T, G> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.vocabulary * o.columns / columns_each() + 1, threads); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const unsigned each = columns_each();
    if (each == width) rows<width, 16>(block);
    else if (each == narrow) rows<narrow, 32>(block);
    else rows<1, 32>(block);
  }

 private:
  /// Of a thread. A small table would leave most of a device idle; that many threads fill one.
  REGIMEN_HD constexpr unsigned columns_each() const {
    constexpr std::size_t many = std::size_t{1} << 16;
    if (o.columns % width != 0 || !are_aligned(at(o.d_y), at(o.d_table))) return 1;
    return o.vocabulary * o.columns / width < many ? narrow : width;
  }

  /// together   rows that are loaded before they are added
  REGIMEN_HD_UNCHECKED
  template <unsigned n, unsigned together, class Block>
  REGIMEN_HD void rows(const Block& block) const {
    const T* const d_y = at(o.d_y);
    G* const d_table = at(o.d_table);
    const TokenOrder all{o.count, o.vocabulary, at.template scratch_of<std::uint32_t>()};
    const std::uint32_t *const order = all.order(all.digits() - 1), *const begins = all.begin(),
                               *const ends = all.end();
    const std::size_t packs = o.columns / n;
    for_pieces(block, o.vocabulary * packs, [&](std::size_t piece) {
      const std::size_t row = piece / packs, column = piece % packs * n;
      const std::uint32_t begin = begins[row], end = ends[row];
      if (begin == end && o.add) return;
      S sum[n] = {};
      std::uint32_t place = begin;
      const auto add_values = [&](const Pack<T, n>& values, bool is_first) {
        for (unsigned k = 0; k < n; ++k)
          sum[k] = is_first ? static_cast<S>(values.at[k]) : sum[k] + static_cast<S>(values.at[k]);
      };
      // Written out: in a loop that the compiler does not unroll, what is loaded lies in memory.
      const auto take = [&]<unsigned... r>(std::integer_sequence<unsigned, r...>) {
        for (; end - place >= sizeof...(r); place += sizeof...(r)) {
          const Pack<T, n> loaded[] = {detail::read<n>(d_y + order[place + r] * o.columns + column)...};
          (add_values(loaded[r], place + r == begin), ...);
        }
      };
      take(std::make_integer_sequence<unsigned, together>{});
      take(std::make_integer_sequence<unsigned, 4>{});
      take(std::make_integer_sequence<unsigned, 1>{});
      G* const to = d_table + row * o.columns + column;
      Pack<G, n> result;
      if (o.add) result = detail::read<n>(to);
      for (unsigned k = 0; k < n; ++k)
        result.at[k] = static_cast<G>(o.add ? static_cast<S>(result.at[k]) + sum[k] : sum[k]);
      detail::write(result, to);
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
