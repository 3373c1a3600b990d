// regimen/engine/cpu/register_tile.hpp — the block of a product that lives in registers, and how operands come to it.
#pragma once

#include <regimen/engine/cpu/simd.hpp>

#include <cstddef>
#include <utility>

namespace regimen::cpu::detail {

// Rows of accumulators that fill the registers: 12 x 2 vectors of 32 registers, or 6 x 2 of 16.
inline constexpr std::size_t block_rows = vector_bytes == 64 ? 12 : 6;
template <class S> inline constexpr std::size_t block_columns = 2 * lanes<S>;

/// from[0, count) to `to`, widened, and 0 after it up to a whole vector.
template <class S, class T> inline void copy_row(S* to, const T* from, std::size_t count) {
  for_each_vector<S>(0, count, [&](std::size_t i, auto part) { store<S>(load<S>(from + i, part), to + i); });
}

// The lanes of a and b in turn, from the low or the high half of both. V is a template parameter so that the branches
// for other widths are never compiled.
template <class V> inline V interleave_low(V a, V b) {
  constexpr std::size_t count = sizeof(V) / sizeof(a[0]);
  if constexpr (count == 16) return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  else if constexpr (count == 8) return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  else if constexpr (count == 4) return __builtin_shufflevector(a, b, 0, 4, 1, 5);
  else return __builtin_shufflevector(a, b, 0, 2);
}
template <class V> inline V interleave_high(V a, V b) {
  constexpr std::size_t count = sizeof(V) / sizeof(a[0]);
  if constexpr (count == 16) return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  else if constexpr (count == 8) return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  else if constexpr (count == 4) return __builtin_shufflevector(a, b, 2, 6, 3, 7);
  else return __builtin_shufflevector(a, b, 1, 3);
}

/// to[p][j] = from[j][p] for `rows` rows j and as many p as a vector has lanes, by log2(lanes) perfect shuffles of the
/// rows. Rows from `rows` on repeat the last one, which costs no branch; columns from `count` on are not read.
template <class S, class T, class Count, std::size_t... I>
inline void transpose_square(S* to, std::size_t to_stride, const T* from, std::size_t from_stride, std::size_t rows, Count count,
                             std::index_sequence<I...>) {
  constexpr std::size_t width = sizeof...(I);
  using Native = typename Vector<S>::Native;
  const std::size_t last = rows - 1;
  Native row[width] = {load<S>(from + (I < last ? I : last) * from_stride, count).native...};
  const auto round = [&] {
    const Native next[width] = {(I % 2 == 0 ? interleave_low(row[I / 2], row[I / 2 + width / 2])
                                            : interleave_high(row[I / 2], row[I / 2 + width / 2]))...};
    ((row[I] = next[I]), ...);
  };
  round();
  if constexpr (width > 2) round();
  if constexpr (width > 4) round();
  if constexpr (width > 8) round();
  (store<S>(Vector<S>(row[I]), to + I * to_stride), ...);
}

/// to[p][j] = from[j][p] for j < rows, p < columns, widened. Writes whole squares: `to` needs room for rows and columns
/// rounded up to lanes; what lands there are copies of the last row, and 0 from the last column on.
template <class S, class T>
inline void transpose(S* to, std::size_t to_stride, const T* from, std::size_t from_stride, std::size_t rows,
                      std::size_t columns) {
  constexpr auto square = std::make_index_sequence<lanes<S>>{};
  for (std::size_t j = 0; j < rows; j += lanes<S>)
    for_each_vector<S>(0, columns, [&](std::size_t p, auto count) {
      transpose_square(to + p * to_stride + j, to_stride, from + j * from_stride + p, from_stride, rows - j, count, square);
    });
}

/// c[i][j] = Σ_p a[i][p] · b[p][j], or += if `add`, for Rows rows and Vectors vectors of columns, in registers over all
/// of `depth`. a[i][p] lies at a[i · RowStride + p · DepthStride]; strides that the compiler knows cost no registers.
template <class S, std::size_t Rows, std::size_t Vectors, std::size_t RowStride, std::size_t DepthStride, std::size_t BStride>
inline void multiply_block(std::size_t depth, const S* a, const S* b, S* c, std::size_t c_stride, bool add) {
  using V = Vector<S>;
  V sum[Rows][Vectors] = {};
  [&]<std::size_t... I, std::size_t... J>(std::index_sequence<I...>, std::index_sequence<J...>) {
    for (std::size_t p = 0; p < depth; ++p, a += DepthStride, b += BStride) {
      const V row[Vectors] = {load<S>(b + J * lanes<S>)...};
      const auto one_row = [&](V(&into)[Vectors], V factor) { ((into[J] = multiply_add(factor, row[J], into[J])), ...); };
      (one_row(sum[I], V(a[I * RowStride])), ...);
    }
    const auto out = [&](V value, S* at) { store<S>(add ? load<S>(at) + value : value, at); };
    const auto out_row = [&](V(&from)[Vectors], S* at) { (out(from[J], at + J * lanes<S>), ...); };
    (out_row(sum[I], c + I * c_stride), ...);
  }(std::make_index_sequence<Rows>{}, std::make_index_sequence<Vectors>{});
}

/// multiply_block over any number of rows and columns: c (rows,columns) with a as above and b in panels of
/// block_columns columns, `b_panel` elements apart, whose rows are BStride apart. Works on rows rounded up to a third of
/// block_rows and on columns rounded up to lanes: a, b and c must have room for that.
template <class S, std::size_t RowStride, std::size_t DepthStride, std::size_t BStride>
inline void multiply_tile(std::size_t rows, std::size_t columns, std::size_t depth, const S* a, const S* b, std::size_t b_panel,
                          S* c, std::size_t c_stride, bool add) {
  constexpr std::size_t third = block_rows / 3;
  const auto block = [&]<std::size_t Rows, std::size_t Vectors>(std::size_t i, std::size_t j) {
    multiply_block<S, Rows, Vectors, RowStride, DepthStride, BStride>(depth, a + i * RowStride, b + j / block_columns<S> * b_panel,
                                                                     c + i * c_stride + j, c_stride, add);
  };
  const auto panel = [&]<std::size_t Vectors>(std::size_t j) {
    std::size_t i = 0;
    for (; i + 2 * third < rows; i += block_rows) block.template operator()<block_rows, Vectors>(i, j);
    if (i + third < rows) block.template operator()<2 * third, Vectors>(i, j);
    else if (i < rows) block.template operator()<third, Vectors>(i, j);
  };
  for (std::size_t j = 0; j < columns; j += block_columns<S>) {
    if (columns - j > lanes<S>) panel.template operator()<2>(j);
    else panel.template operator()<1>(j);
  }
}

}  // namespace regimen::cpu::detail
// SPDX-License-Identifier: Apache-2.0
