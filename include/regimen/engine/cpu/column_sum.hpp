// regimen/engine/cpu/column_sum.hpp — sums over rows: gradients of biases and tables; two statistics of each column.
#pragma once

#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cstddef>

namespace regimen::cpu {

/// sums[column] = Σ_rows term, or += if `add`; one rounding to G. A register of terms at element i = row · leading +
/// column comes from term(i, count, column); it is called once for each element, so it may also store what it computes.
///
/// Rows are cut into blocks whose sums fit the caller's stack, very long rows into strips. A strip is at least a few
/// pages wide: narrower ones are three times slower. A block adds 128 rows at a time, so the error grows with 128 +
/// rows / 128 roundings; blocks are added in order.
template <class S, class G, class Term>
void column_sums(std::size_t rows, std::size_t columns, std::size_t leading, G* sums, bool add, const Term& term) {
  constexpr std::size_t widest = 2048, at_once = 128, room = 65536 / sizeof(S), most_blocks = 32;
  const std::size_t strips = (columns + widest - 1) / widest;
  std::size_t blocks = chunks_of(rows * columns);
  if (blocks > most_blocks) blocks = most_blocks;
  if (blocks * columns > room) blocks = room / columns;
  if (blocks > (rows + at_once - 1) / at_once) blocks = (rows + at_once - 1) / at_once;
  if (blocks == 0) blocks = 1;

  S totals[room];  // the sums of each block; a single block writes its sums itself
  for_chunks(rows * columns, blocks * strips, [&](std::size_t chunk) {
    const std::size_t block = chunk / strips, begin = chunk % strips * widest,
                      end = columns < begin + widest ? columns : begin + widest;
    const std::size_t last = part_begin(rows, blocks, block + 1);
    S own[widest + lanes<S>] = {}, part[widest + lanes<S>];
    for (std::size_t first = part_begin(rows, blocks, block); first < last; first += at_once) {
      const std::size_t stop = last < first + at_once ? last : first + at_once;
      for (std::size_t row = first; row < stop; ++row) {
        for_each_vector<S>(begin, end, [&](std::size_t column, auto n) {
          const Vector<S> value = term(row * leading + column, n, column);
          store(row == first ? value : load<S>(part + (column - begin)) + value, part + (column - begin));
        });
      }
      detail::write_row(own, part, end - begin, true);
    }
    if (blocks > 1) detail::write_row(totals + block * columns + begin, own, end - begin, false);
    else detail::write_row(sums + begin, own, end - begin, add);
  });
  if (blocks > 1) sum_terms(totals, blocks, columns, sums, columns, add);
}

/// The same of the elements of x, rows `leading` elements apart.
template <class S, class T, class G>
void column_sums(const T* x, std::size_t rows, std::size_t columns, std::size_t leading, G* sums, bool add) {
  column_sums<S>(rows, columns, leading, sums, add,
                 [x](std::size_t i, auto n, std::size_t) { return load<S>(x + i, n); });
}

namespace detail {

/// body.operator()<k>(column, count): strips of k registers of columns, so that a row is read in whole cache lines.
template <class S, class Body>
void for_each_strip(std::size_t columns, const Body& body) {
  constexpr std::size_t together = 4;
  std::size_t i = 0;
  for (; i + together * lanes<S> <= columns; i += together * lanes<S>) body.template operator()<together>(i, Whole{});
  for_each_vector<S>(i, columns, [&](std::size_t j, auto n) { body.template operator()<std::size_t{1}>(j, n); });
}

/// The mean of these rows of each column, and the squares around it.   to (2,columns)
template <class S, class T>
void means_and_squares(const T* x, std::size_t columns, Range rows, S* to) {
  using V = Vector<S>;
  const S share = rows.begin < rows.end ? S(1) / static_cast<S>(rows.end - rows.begin) : S(0);
  for_each_strip<S>(columns, [&]<std::size_t k>(std::size_t i, auto n) {
    V mean[k], squares[k];
    for (std::size_t r = 0; r < k; ++r) mean[r] = squares[r] = S(0);
    for (std::size_t row = rows.begin; row < rows.end; ++row)
      for (std::size_t r = 0; r < k; ++r) mean[r] += load<S>(x + row * columns + i + r * lanes<S>, n);
    for (std::size_t r = 0; r < k; ++r) mean[r] = mean[r] * share;
    for (std::size_t row = rows.begin; row < rows.end; ++row)
      for (std::size_t r = 0; r < k; ++r) {
        const V d = load<S>(x + row * columns + i + r * lanes<S>, n) - mean[r];
        squares[r] = multiply_add(d, d, squares[r]);
      }
    for (std::size_t r = 0; r < k; ++r) {
      store(mean[r], to + i + r * lanes<S>, n);
      store(squares[r], to + columns + i + r * lanes<S>, n);
    }
  });
}

/// Σ d_y and Σ d_y · (x − mean) · rstd of each column, over these rows.
///   means, rstds (columns); to (2,columns)
template <class S, class T>
void sums_of_gradients(const T* x, const T* d_y, const S* means, const S* rstds, std::size_t columns, Range rows,
                       S* to) {
  using V = Vector<S>;
  for_each_strip<S>(columns, [&]<std::size_t k>(std::size_t i, auto n) {
    V sum_d[k], sum_dn[k], mean[k], rstd[k];
    for (std::size_t r = 0; r < k; ++r) {
      sum_d[r] = sum_dn[r] = S(0);
      mean[r] = load<S>(means + i + r * lanes<S>, n);
      rstd[r] = load<S>(rstds + i + r * lanes<S>, n);
    }
    for (std::size_t row = rows.begin; row < rows.end; ++row)
      for (std::size_t r = 0; r < k; ++r) {
        const std::size_t place = row * columns + i + r * lanes<S>;
        const V d = load<S>(d_y + place, n);
        sum_d[r] += d;
        sum_dn[r] = multiply_add(d, (load<S>(x + place, n) - mean[r]) * rstd[r], sum_dn[r]);
      }
    for (std::size_t r = 0; r < k; ++r) {
      store(sum_d[r], to + i + r * lanes<S>, n);
      store(sum_dn[r], to + columns + i + r * lanes<S>, n);
    }
  });
}

}  // namespace detail

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
