// regimen/engine/cpu/column_sum.hpp — sums over rows: gradients of biases and tables.
#pragma once

#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::cpu {

/// sums[column] = Σ_rows term, or += if `add`; one rounding to G. A register of terms at element i = row · columns + column
/// comes from term(i, count, column); it is called once for each element, so it may also store what it computes.
///
/// One chunk owns a strip of columns and takes all rows in order, 128 at a time before they join the total: the error grows
/// with 128 + rows / 128 roundings, and the number of threads changes nothing.
template <class S, class G, class Term> void column_sums(std::size_t rows, std::size_t columns, G* sums, bool add, const Term& term) {
  constexpr std::size_t widest = 1024, narrowest = 64, together = 128;
  std::size_t width = columns / 8 / narrowest * narrowest;  // shape alone: eight strips or more, unless they become too thin
  width = width < narrowest ? narrowest : width > widest ? widest : width;
  if (rows * columns <= grain) width = widest;
  for_chunks(rows * columns, (columns + width - 1) / width, [&](std::size_t strip) {
    const std::size_t begin = strip * width, end = columns < begin + width ? columns : begin + width;
    S total[widest] = {}, part[widest];
    for (std::size_t first = 0; first < rows; first += together) {
      const std::size_t last = rows < first + together ? rows : first + together;
      for (std::size_t row = first; row < last; ++row) {
        for_each_vector<S>(begin, end, [&](std::size_t column, auto n) {
          const Vector<S> value = term(row * columns + column, n, column);
          store(row == first ? value : load<S>(part + (column - begin)) + value, part + (column - begin));
        });
      }
      for (std::size_t i = 0; i < end - begin; ++i) total[i] += part[i];
    }
    for_each_vector<S>(begin, end, [&](std::size_t column, auto n) {
      const Vector<S> value = load<S>(total + (column - begin));
      store(add ? load<S>(sums + column, n) + value : value, sums + column, n);
    });
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
