// regimen/engine/cpu/packed_product.hpp — the portable matrix product: packed, register-blocked, any element types.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/engine/cpu/matrix_product.hpp>
#include <regimen/engine/cpu/parallel.hpp>
#include <regimen/engine/cpu/register_tile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace regimen::cpu {

namespace detail {

/// One tile of c, and the slices of a and b for it, on the stack: 388 KiB, made for an L2 cache.
template <class S, class Word = S>
struct ProductBuffers final {
  static constexpr std::size_t rows = 96, columns = 1024 / sizeof(S), depth = 192;
  // In words, off the powers of two: rows share few cache sets. A row may be written to the end of a register.
  static constexpr std::size_t row_stride = depth + 64 / sizeof(S), b_stride = columns + 64 / sizeof(S);
  static_assert(rows % block_rows == 0 && columns % block_columns<S> == 0);

  alignas(64) Word a[rows * row_stride];  // (rows,depth) with row_stride, or (depth,rows) with stride rows
  alignas(64) Word b[b_stride * depth];   // panels of (depth, block_columns), or (depth,columns) with b_stride
  alignas(64) S c[rows * columns];
};

/// How slices are packed into the buffers as words; T is the stored type, Word is S or a Pair.
///   store    rows that follow k stay rows                            to[i][word of p] = from[i][p]
///   stack    rows that cross k stay rows                             to[word of p][j] = from[p][j]
///   turn     rows that follow k become columns                       to[word of p][j] = from[j][p]
/// `turn` and `stack` round columns up to lanes, `store` rounds rows up to a third of block_rows; these
/// extra results are not stored in c.
template <class Word>
struct Packing final {
  static constexpr std::size_t numbers = 1;  // of a word

  template <class T>
  static void store(Word* to, std::size_t to_stride, const T* from, std::size_t from_stride, std::size_t rows,
                    std::size_t depth) {
    copy_rows(to, to_stride, from, from_stride, rows, depth);
  }
  template <class T>
  static void stack(Word* to, std::size_t to_stride, const T* from, std::size_t from_stride, std::size_t depth,
                    std::size_t columns) {
    for (std::size_t p = 0; p < depth; ++p) copy_row(to + p * to_stride, from + p * from_stride, columns);
  }
  template <class T>
  static void turn(Word* to, std::size_t to_stride, const T* from, std::size_t from_stride, std::size_t columns,
                   std::size_t depth) {
    transpose(to, to_stride, from, from_stride, columns, depth);
  }
};

/// Of words that lie in memory, in place: a function of its own, because it is long.
[[gnu::noinline]] inline void transpose_square(Words* square) {
  transpose_square<Words>([&](std::size_t i) { return square[i]; }, [&](std::size_t i, Words row) { square[i] = row; },
                          std::make_index_sequence<lanes<float>>{});
}

/// An odd last p is paired with 0.
template <>
struct Packing<Pair> final {
  static constexpr std::size_t numbers = 2, width = lanes<float>;

  static void store(Pair* to, std::size_t to_stride, const bf16* from, std::size_t from_stride, std::size_t rows,
                    std::size_t depth) {
    for (std::size_t i = 0; i < rows; ++i) {
      to[i * to_stride + (depth - 1) / 2].bits = 0;
      std::memcpy(to + i * to_stride, from + i * from_stride, depth * sizeof(bf16));
    }
    complete_rows(to, to_stride, rows, (depth + 1) / 2);
  }
  static void stack(Pair* to, std::size_t to_stride, const bf16* from, std::size_t from_stride, std::size_t depth,
                    std::size_t columns) {
    for (std::size_t p = 0; p < depth; p += 2)
      for_each_vector<float>(0, columns, [&](std::size_t j, auto count) {
        Words words = extend(read<Halves>(from + p * from_stride + j, count));
        if (p + 1 < depth) words |= extend(read<Halves>(from + (p + 1) * from_stride + j, count)) << 16;
        write(words, to + p / 2 * to_stride + j, Whole{});
      });
  }
  static void turn(Pair* to, std::size_t to_stride, const bf16* from, std::size_t from_stride, std::size_t columns,
                   std::size_t depth) {
    for (std::size_t j = 0; j < columns; j += width)
      for (std::size_t p = 0; p < depth; p += 2 * width) {
        const std::size_t last = columns - 1, left = depth - p;
        Words square[width];
        for (std::size_t i = 0; i < width; ++i) {
          const bf16* const row = from + (j + i < last ? j + i : last) * from_stride + p;
          square[i] = left >= 2 * width ? read<Words>(row, Whole{}) : read<Words>(row, left);
        }
        transpose_square(square);
        for (std::size_t i = 0; i < width; ++i) write(square[i], to + (p / 2 + i) * to_stride + j, Whole{});
      }
  }
};

/// How c is cut into tiles: a function of the shape alone.
struct ProductTiles final {
  std::size_t down = 1, across = 1;

  template <class S>
  static constexpr ProductTiles of(std::size_t m, std::size_t n, std::size_t k) {
    using Buffers = ProductBuffers<S>;
    ProductTiles tiles{(m + Buffers::rows - 1) / Buffers::rows, (n + Buffers::columns - 1) / Buffers::columns};
    // More tiles than the buffers need, so that several threads have work: while each keeps 2^19 multiplications
    // (some 10 µs), halve along the side that leaves the tiles squarer.
    while (tiles.down * tiles.across < 32) {
      const std::size_t height = m / tiles.down, width = n / tiles.across;
      if (height * width * k < (std::size_t{1} << 20)) break;
      if (width >= height && width >= 2 * block_columns<S>) tiles.across *= 2;
      else if (height >= 2 * block_rows) tiles.down *= 2;
      else break;
    }
    return tiles;
  }
};

/// Part `part` of `count`, in whole blocks of `block`.
constexpr Range block_range(std::size_t count, std::size_t block, std::size_t parts, std::size_t part) {
  const std::size_t blocks = (count + block - 1) / block;
  return {(std::min)(count, part_begin(blocks, parts, part) * block),
          (std::min)(count, part_begin(blocks, parts, part + 1) * block)};
}

// The loop over tiles does not know what numbers lie in memory: it is compiled once for each kind of word, whatever the
// element types.

/// A row-major matrix, and in which of Packing's ways a slice of it comes to a buffer.
template <class Word>
struct Operand final {
  const void* begin;
  std::size_t stride;  // elements between rows
  bool is_transposed;
  void (*copy)(Word* to, std::size_t to_stride, const Operand& from, std::size_t at, std::size_t count,
               std::size_t length);  // from element `at` on

  template <class T>
  static Operand left(const T* a, std::size_t stride, bool transpose) {
    return {a, stride, transpose, transpose ? copy_by<Way::stack, T> : copy_by<Way::store, T>};
  }
  template <class T>
  static Operand right(const T* b, std::size_t stride, bool transpose) {
    return {b, stride, transpose, transpose ? copy_by<Way::turn, T> : copy_by<Way::stack, T>};
  }

 private:
  enum class Way { store, stack, turn };
  template <Way way, class T>
  static void copy_by(Word* to, std::size_t to_stride, const Operand& matrix, std::size_t at, std::size_t count,
                      std::size_t length) {
    const T* const from = static_cast<const T*>(matrix.begin) + at;
    if constexpr (way == Way::store) Packing<Word>::store(to, to_stride, from, matrix.stride, count, length);
    else if constexpr (way == Way::stack) Packing<Word>::stack(to, to_stride, from, matrix.stride, count, length);
    else Packing<Word>::turn(to, to_stride, from, matrix.stride, count, length);
  }
};

/// Where a product goes: row-major, rounded once, or added to.
template <class S>
struct Product final {
  void* begin;
  std::size_t stride;
  void (*write)(void* to, std::size_t at, const S* from, std::size_t columns, bool add);  // of a row, at element `at`

  template <class C>
  static Product to(C* c, std::size_t stride) {
    return {c, stride, [](void* to, std::size_t at, const S* from, std::size_t columns, bool add) {
              write_row(static_cast<C*>(to) + at, from, columns, add);
            }};
  }
};

template <class S, class Word>
void product_of_tiles(const Operand<Word>& a, const Operand<Word>& b, const Product<S>& c, std::size_t m, std::size_t n,
                      std::size_t k, bool add) {
  using Buffers = ProductBuffers<S, Word>;
  constexpr std::size_t numbers = Packing<Word>::numbers;
  constexpr std::size_t step = block_columns<S>, slice = Buffers::depth * numbers, panel = step * Buffers::depth;
  const ProductTiles tiles = ProductTiles::of<S>(m, n, k);
  const std::size_t slices = (k + slice - 1) / slice, even = (k + slices - 1) / slices;
  const std::size_t stride = even + even % numbers;  // equal slices: a short last one would cost as much as a long one

  parallel_for(tiles.down * tiles.across, [&](std::size_t tile) {
    Buffers buffers;  // padding that is read is written before, with finite values if a and b are finite
    const auto [i0, i1] = block_range(m, block_rows, tiles.down, tile % tiles.down);
    const auto [j0, j1] = block_range(n, step, tiles.across, tile / tiles.down);
    const std::size_t rows = i1 - i0, columns = j1 - j0;
    if (rows == 0 || columns == 0) return;

    for (std::size_t p0 = 0; p0 < k; p0 += stride) {
      const std::size_t depth = k - p0 < stride ? k - p0 : stride, words = (depth + numbers - 1) / numbers;
      for (std::size_t j = 0; j < columns; j += step) {
        const std::size_t width = columns - j < step ? columns - j : step;
        Word* const to = buffers.b + j / step * panel;
        if (b.is_transposed) b.copy(to, step, b, (j0 + j) * b.stride + p0, width, depth);
        else b.copy(to, step, b, p0 * b.stride + j0 + j, depth, width);
      }
      const Word* const left = buffers.a;
      const Word* const right = buffers.b;
      if (a.is_transposed) {
        a.copy(buffers.a, Buffers::rows, a, p0 * a.stride + i0, depth, rows);
        multiply_tile<Strides{.a_row = 1, .a_depth = Buffers::rows, .b_row = step}>(
            rows, columns, words, left, {right, panel}, {buffers.c, Buffers::columns}, p0 > 0);
      } else {
        a.copy(buffers.a, Buffers::row_stride, a, i0 * a.stride + p0, rows, depth);
        multiply_tile<Strides{.a_row = Buffers::row_stride, .a_depth = 1, .b_row = step}>(
            rows, columns, words, left, {right, panel}, {buffers.c, Buffers::columns}, p0 > 0);
      }
    }
    for (std::size_t i = 0; i < rows; ++i)
      c.write(c.begin, (i0 + i) * c.stride + j0, buffers.c + i * Buffers::columns, columns, add);
  });
}

}  // namespace detail

/// The product of any element types.
///
/// error    S = fp64 if c is, else fp32: sums over all of k in S, in slices from the first to the last, then one
///          rounding to C. Where bf16 is multiplied in pairs, subnormal operands and sums count as 0
/// cost     packs every tile's slices: about 1/rows + 1/columns of a tile more traffic; no allocation
template <class A, class B, class C>
void packed_product(const MatrixProduct<A, B, C>& o) {
  using namespace detail;
  using S = statistic_t<C>;
  constexpr bool pairs =
      multiplies_pairs && std::is_same_v<A, bf16> && std::is_same_v<B, bf16> && std::is_same_v<S, float>;
  using Word = std::conditional_t<pairs, Pair, S>;
  product_of_tiles<S, Word>(Operand<Word>::left(o.a, o.lda, o.transpose_a),
                            Operand<Word>::right(o.b, o.ldb, o.transpose_b), Product<S>::to(o.c, o.ldc), o.m, o.n, o.k,
                            o.add);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
