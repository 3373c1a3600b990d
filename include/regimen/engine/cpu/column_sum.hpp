// regimen/engine/cpu/column_sum.hpp — sums over rows: gradients of biases and tables.
#pragma once

#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cstddef>

namespace regimen::cpu {

/// sums[column] = Σ_rows term, or += if `add`; one rounding to G. A register of terms at element i = row · columns +
/// column comes from term(i, count, column); it is called once for each element, so it may also store what it computes.
///
/// Rows are cut into blocks whose sums fit the caller's stack, very long rows into strips. A strip is at least a few
/// pages wide: narrower ones are three times slower. A block adds 128 rows at a time, so the error grows with 128 +
/// rows / 128 roundings; blocks are added in order.
template <class S, class G, class Term>
void column_sums(std::size_t rows, std::size_t columns, G* sums, bool add, const Term& term, std::size_t leading) {
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
      for_each_vector<S>(0, end - begin,
                         [&](std::size_t i, auto) { store(load<S>(own + i) + load<S>(part + i), own + i); });
    }
    for_each_vector<S>(begin, end, [&](std::size_t column, auto n) {
      const Vector<S> value = load<S>(own + (column - begin));
      if (blocks > 1) store(value, totals + block * columns + column, n);
      else store(add ? load<S>(sums + column, n) + value : value, sums + column, n);
    });
  });
  if (blocks == 1) return;
  for_each_vector<S>(0, columns, [&](std::size_t column, auto n) {
    Vector<S> value = load<S>(totals + column, n);
    for (std::size_t block = 1; block < blocks; ++block) value += load<S>(totals + block * columns + column, n);
    store(add ? load<S>(sums + column, n) + value : value, sums + column, n);
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
