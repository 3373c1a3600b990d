// regimen/kernel/embedding.hpp — a table of vectors looked up by token, and its gradient in the order of the tokens.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

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

/// The gradient of a table, in three launches: each token's place in the order by (token, i) is the number of tokens
/// before it in that order, which needs no atomics and no sorting; then the range of each row of the table in that
/// order; then a thread for 16 bytes of each row, which adds its range in order and rounds once: the additions of the
/// CPU engine. Tokens outside the vocabulary add nothing, nor does the padding token.
///
/// cost   count² comparisons: 65536 tokens, 4 · 10^9, some 0.3 ms of an H100 by estimate; reads d_y and writes the
///        table once. The row of the most frequent token is the longest sum that one thread makes.
///        scratch: 4 · count + 8 · vocabulary bytes
struct TokenOrder final {
  std::uint32_t *order, *begin, *end;  // (count), (vocabulary), (vocabulary)

  REGIMEN_HD TokenOrder(std::uint32_t* scratch, std::size_t count, std::size_t vocabulary)
      : order(scratch), begin(scratch + count), end(scratch + count + vocabulary) {}
  static constexpr std::size_t bytes(std::size_t count, std::size_t vocabulary) {
    return (count + 2 * vocabulary) * sizeof(std::uint32_t);
  }
};

template <class T, class G>
struct Kernel<op::EmbedBackward<T, G>, 0> final {
  static constexpr unsigned passes = 3, threads = 128;
  op::EmbedBackward<T, G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::EmbedBackward<T, G>& operation) {
    return TokenOrder::bytes(operation.count, operation.vocabulary);
  }
  constexpr unsigned blocks() const { return blocks_for(o.count + o.vocabulary, threads); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::int32_t* const token = at(o.token);
    const TokenOrder places(at.template scratch_of<std::uint32_t>(), o.count, o.vocabulary);
    for_pieces(block, o.count + o.vocabulary, [&](std::size_t piece) {
      if (piece < o.count) places.order[place_of(token, piece)] = static_cast<std::uint32_t>(piece);
      else
        places.begin[piece - o.count] = places.end[piece - o.count] =
            0;  // no token names the row, unless the next launch finds one
    });
  }

 private:
  /// How many tokens are smaller than token i, or the same and earlier.
  REGIMEN_HD std::uint32_t place_of(const std::int32_t* token, std::size_t i) const {
    constexpr unsigned n = pack_of<std::int32_t>;
    const std::uint32_t own = static_cast<std::uint32_t>(token[i]);
    std::uint32_t before = 0;
    const auto compare = [&](std::int32_t other, std::size_t j) {
      const std::uint32_t size = static_cast<std::uint32_t>(other);
      before += static_cast<std::uint32_t>(j < i ? size <= own : size < own);
    };
    std::size_t j = 0;
    if (are_aligned(token)) {
      for (; j + n <= o.count; j += n) {
        const auto some = detail::read<n>(token + j);
        for (unsigned k = 0; k < n; ++k) compare(some.at[k], j + k);
      }
    }
    for (; j < o.count; ++j) compare(token[j], j);
    return before;
  }
};

template <class T, class G>
struct Kernel<op::EmbedBackward<T, G>, 1> final {
  static constexpr unsigned threads = detail::flat_threads;
  op::EmbedBackward<T, G> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count, threads); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::int32_t* const token = at(o.token);
    const TokenOrder places(at.template scratch_of<std::uint32_t>(), o.count, o.vocabulary);
    for_pieces(block, o.count, [&](std::size_t place) {
      const std::int32_t own = token[places.order[place]];
      const std::size_t row = static_cast<std::uint32_t>(own);
      if (row >= o.vocabulary || own == o.padding) return;
      if (place == 0 || token[places.order[place - 1]] != own) places.begin[row] = static_cast<std::uint32_t>(place);
      if (place + 1 == o.count || token[places.order[place + 1]] != own)
        places.end[row] = static_cast<std::uint32_t>(place + 1);
    });
  }
};

template <class T, class G>
struct Kernel<op::EmbedBackward<T, G>, 2> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128, width = pack_of<T>;
  op::EmbedBackward<T, G> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.vocabulary * o.columns / width + 1, threads); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    if (o.columns % width == 0 && are_aligned(at(o.d_y), at(o.d_table))) rows<width>(block);
    else rows<1>(block);
  }

 private:
  REGIMEN_HD_UNCHECKED
  template <unsigned n, class Block>
  REGIMEN_HD void rows(const Block& block) const {
    constexpr unsigned together = 4;  // rows that are loaded before they are added
    const T* const d_y = at(o.d_y);
    G* const d_table = at(o.d_table);
    const TokenOrder places(at.template scratch_of<std::uint32_t>(), o.count, o.vocabulary);
    const std::size_t packs = o.columns / n;
    for_pieces(block, o.vocabulary * packs, [&](std::size_t piece) {
      const std::size_t row = piece / packs, column = piece % packs * n;
      const std::uint32_t begin = places.begin[row], end = places.end[row];
      if (begin == end && o.add) return;
      S sum[n] = {};
      const auto add_values = [&](const Pack<T, n>& values, bool is_first) {
        for (unsigned k = 0; k < n; ++k)
          sum[k] = is_first ? static_cast<S>(values.at[k]) : sum[k] + static_cast<S>(values.at[k]);
      };
      std::uint32_t place = begin;
      for (; end - place >= together; place += together) {
        Pack<T, n> loaded[together];
        for (unsigned r = 0; r < together; ++r)
          loaded[r] = detail::read<n>(d_y + places.order[place + r] * o.columns + column);
        for (unsigned r = 0; r < together; ++r) add_values(loaded[r], place + r == begin);
      }
      for (; place < end; ++place)
        add_values(detail::read<n>(d_y + places.order[place] * o.columns + column), place == begin);
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
