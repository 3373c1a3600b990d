// regimen/engine/cpu/column_statistics.hpp — two statistics of each column over a run of rows.
#pragma once

#include <regimen/engine/cpu/part.hpp>
#include <regimen/engine/cpu/simd.hpp>

#include <cstddef>

namespace regimen::cpu::detail {

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

}  // namespace regimen::cpu::detail
// SPDX-License-Identifier: Apache-2.0
