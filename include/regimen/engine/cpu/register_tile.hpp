// regimen/engine/cpu/register_tile.hpp — the register block of a product, and the packing of its operands.
#pragma once

#include <regimen/engine/cpu/simd.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace regimen::cpu::detail {

// Rows of accumulators that fill the registers: 12 x 2 vectors of 32 registers, or 6 x 2 of 16.
inline constexpr std::size_t block_rows = vector_bytes == 64 ? 12 : 6;
template <class S>
inline constexpr std::size_t block_columns = 2 * lanes<S>;

/// from[0, count) to `to`, widened, and 0 after it up to a whole vector.
template <class S, class T>
inline void copy_row(S* to, const T* from, std::size_t count) {
  for_each_vector<S>(0, count, [&](std::size_t i, auto part) { store<S>(load<S>(from + i, part), to + i); });
}

/// Zeros in the rows behind `rows` that complete a third of block_rows.
template <class Word>
void complete_rows(Word* to, std::size_t stride, std::size_t rows, std::size_t depth) {
  for (std::size_t i = rows; i % (block_rows / 3) != 0; ++i) std::fill_n(to + i * stride, depth, Word{});
}
/// The rows of `from`, widened, and those that complete them.
template <class S, class T>
void copy_rows(S* to, std::size_t to_stride, const T* from, std::size_t from_stride, std::size_t rows,
               std::size_t depth) {
  for (std::size_t i = 0; i < rows; ++i) copy_row(to + i * to_stride, from + i * from_stride, depth);
  complete_rows(to, to_stride, rows, depth);
}

// The lanes of a and b in turn, from the low or the high half of both. V is a template parameter so that the branches
// for other widths are never compiled.
template <bool is_high, class V>
inline V interleave(V a, V b) {
  constexpr int count = sizeof(V) / sizeof(a[0]), i = is_high ? count / 2 : 0, j = i + count;
  if constexpr (count == 16)
    return __builtin_shufflevector(a, b, i, j, i + 1, j + 1, i + 2, j + 2, i + 3, j + 3, i + 4, j + 4, i + 5, j + 5,
                                   i + 6, j + 6, i + 7, j + 7);
  else if constexpr (count == 8) return __builtin_shufflevector(a, b, i, j, i + 1, j + 1, i + 2, j + 2, i + 3, j + 3);
  else if constexpr (count == 4) return __builtin_shufflevector(a, b, i, j, i + 1, j + 1);
  else return __builtin_shufflevector(a, b, i, j);
}

/// to[p][·] = row(·)[p] for as many rows and p as a vector has lanes, by log2(lanes) perfect shuffles of the rows.
template <class Native, class Row, class Out, std::size_t... I>
inline void transpose_square(const Row& row_at, const Out& out, std::index_sequence<I...>) {
  constexpr std::size_t width = sizeof...(I);
  Native row[width] = {row_at(I)...};
  const auto round = [&] {
    const Native next[width] = {interleave<(I % 2 != 0)>(row[I / 2], row[I / 2 + width / 2])...};
    ((row[I] = next[I]), ...);
  };
  round();
  if constexpr (width > 2) round();
  if constexpr (width > 4) round();
  if constexpr (width > 8) round();
  (out(I, row[I]), ...);
}

/// to[p][j] = from[j][p] for j < rows, p < columns, widened. Writes whole squares: `to` needs room for rows and columns
/// rounded up to lanes; what lands there are copies of the last row, and 0 from the last column on.
template <class S, class T>
inline void transpose(S* to, std::size_t to_stride, const T* from, std::size_t from_stride, std::size_t rows,
                      std::size_t columns) {
  using Native = typename Vector<S>::Native;
  for (std::size_t j = 0; j < rows; j += lanes<S>) {
    const std::size_t last = rows - 1;  // repeated beyond the end, which saves a branch
    for_each_vector<S>(0, columns, [&](std::size_t p, auto count) {
      transpose_square<Native>(
          [&](std::size_t i) { return load<S>(from + (j + i < last ? j + i : last) * from_stride + p, count).native; },
          [&](std::size_t i, Native row) { store<S>(Vector<S>(row), to + (p + i) * to_stride + j); },
          std::make_index_sequence<lanes<S>>{});
    });
  }
}

/// Two bf16 numbers that follow each other along k, the first in the low half; processors with AVX512-BF16 multiply and
/// add both at once.
struct Pair final {
  std::uint32_t bits;
};

#if defined(__AVX512BF16__)
inline constexpr bool multiplies_pairs = vector_bytes == 64;
#else
inline constexpr bool multiplies_pairs = false;
#endif

template <class Word>
struct WordRegister final {
  using Sum = Word;
  using type = Vector<Word>;
  static type broadcast(Word word) { return type(word); }
  static type read(const Word* from) { return load<Word>(from); }
  static type add_product(type a, type b, type c) { return multiply_add(a, b, c); }
};
template <>
struct WordRegister<Pair> final {
  using Sum = float;
  using type = Register<float>::Unsigned;
  static type broadcast(Pair word) { return type{} + word.bits; }
  static type read(const Pair* from) { return detail::read<type>(from, Whole{}); }
  static Vector<float> add_product([[maybe_unused]] type a, [[maybe_unused]] type b, Vector<float> c) {
#if defined(__AVX512BF16__)
    if constexpr (multiplies_pairs)
      return Vector<float>(_mm512_dpbf16_ps(c.native, std::bit_cast<__m512bh>(a), std::bit_cast<__m512bh>(b)));
#endif
    return c;
  }
};

/// How far apart, in elements, neighbouring rows and neighbouring p of a lie, and rows of b.
struct Strides {
  std::size_t a_row = 1, a_depth = 1, b_row = 1;
};

#if defined(__CUDACC__)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675  // it hands GCC's pragmas on to the host's compiler, which knows them
#endif
/// c[i][j] = Σ_p a[i][p] · b[p][j], or += if `add`, for Rows rows and Vectors vectors of columns, in registers over all
/// of `depth`. a[i][p] lies at a[i · a_row + p · a_depth]; strides that the compiler knows cost no registers.
///   Word   S, or Pair where S is fp32: then p counts pairs
template <Strides strides, std::size_t Rows, std::size_t Vectors, class S, class Word>
inline void multiply_block(std::size_t depth, const Word* a, const Word* b, S* c, std::size_t c_stride, bool add) {
  using Operand = WordRegister<Word>;
  using V = Vector<S>;
  // Unrolled loops keep it in registers. Folds over it do, too, and take g++ half as long again.
  typename V::Native sum[Rows][Vectors] = {};
  for (std::size_t p = 0; p < depth; ++p, a += strides.a_depth, b += strides.b_row) {
    typename Operand::type row[Vectors];
#pragma GCC unroll 2
    for (std::size_t j = 0; j < Vectors; ++j) row[j] = Operand::read(b + j * lanes<S>);
#pragma GCC unroll 12
    for (std::size_t i = 0; i < Rows; ++i) {
      const typename Operand::type factor = Operand::broadcast(a[i * strides.a_row]);
#pragma GCC unroll 2
      for (std::size_t j = 0; j < Vectors; ++j) sum[i][j] = Operand::add_product(factor, row[j], V(sum[i][j])).native;
    }
  }
  if (add) {
    const S* from = c;
#pragma GCC unroll 12
    for (std::size_t i = 0; i < Rows; ++i, from += c_stride)
#pragma GCC unroll 2
      for (std::size_t j = 0; j < Vectors; ++j) sum[i][j] = load<S>(from + j * lanes<S>).native + sum[i][j];
  }
#pragma GCC unroll 12
  for (std::size_t i = 0; i < Rows; ++i, c += c_stride)
#pragma GCC unroll 2
    for (std::size_t j = 0; j < Vectors; ++j) store<S>(V(sum[i][j]), c + j * lanes<S>);
}
#if defined(__CUDACC__)
#pragma nv_diagnostic pop
#endif

/// Where a matrix begins, and how many elements from each other its rows begin, or its panels.
template <class T>
struct Matrix final {
  T* at;
  std::size_t stride;
};

/// multiply_block over any number of rows and columns: c (rows,columns) with a as above and b in panels of
/// block_columns columns, whose rows are b_row apart. Works on rows rounded up to a third of block_rows and on columns
/// rounded up to lanes: a, b and c must have room for that. Inlining would only copy it.
template <Strides strides, class Word, class S = typename WordRegister<Word>::Sum>
[[gnu::noinline]] void multiply_tile(std::size_t rows, std::size_t columns, std::size_t depth, const Word* a,
                                     Matrix<const Word> b, Matrix<S> c, bool add) {
  constexpr std::size_t third = block_rows / 3;
  const auto block = [&]<std::size_t Rows, std::size_t Vectors>(std::size_t i, std::size_t j) {
    multiply_block<strides, Rows, Vectors>(depth, a + i * strides.a_row, b.at + j / block_columns<S> * b.stride,
                                           c.at + i * c.stride + j, c.stride, add);
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
