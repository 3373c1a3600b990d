// regimen/engine/cpu/packed_product.hpp — the portable matrix product: packed, register-blocked, any element types.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/engine/cpu/parallel.hpp>
#include <regimen/engine/cpu/register_tile.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::cpu {

namespace detail {

/// One tile of c and the slices of a and b that it is made of at a time: 376 KiB, made for an L2 cache; on the stack.
template <class S> struct ProductBuffers final {
  static constexpr std::size_t rows = 96, columns = 1024 / sizeof(S), depth = 192;
  static constexpr std::size_t row_stride = depth + 64 / sizeof(S);  // off the powers of two: rows share few cache sets
  static_assert(rows % block_rows == 0 && columns % block_columns<S> == 0);

  alignas(64) S a[rows * row_stride];  // (rows,depth) with row_stride, or (depth,rows) with stride rows
  alignas(64) S b[columns * depth];    // panels of (depth, block_columns)
  alignas(64) S c[rows * columns];
};

/// How c is cut into tiles: a function of the shape alone.
struct ProductTiles final {
  std::size_t down = 1, across = 1;

  template <class S> static constexpr ProductTiles of(std::size_t m, std::size_t n, std::size_t k) {
    using Buffers = ProductBuffers<S>;
    ProductTiles tiles{(m + Buffers::rows - 1) / Buffers::rows, (n + Buffers::columns - 1) / Buffers::columns};
    // More tiles than the buffers ask for, so that several threads have work: while each keeps 2^19 multiplications
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

/// Where part `part` of `count` begins, in whole blocks of `block`.
constexpr std::size_t block_begin(std::size_t count, std::size_t block, std::size_t parts, std::size_t part) {
  const std::size_t begin = part_begin((count + block - 1) / block, parts, part) * block;
  return begin < count ? begin : count;
}

}  // namespace detail

/// c = op(a) · op(b), or c +=, as op::Product describes; all three row-major and dense, of any element types
///
/// error    S = fp64 if a, b and c are, else fp32: sums over all of k in S, in slices of 192 from the first to the last,
///          then one rounding to C
/// cost     packs every tile's slices: about 1/rows + 1/columns of a tile more traffic; no allocation
template <class A, class B, class C>
void packed_product(const A* a, const B* b, C* c, std::size_t m, std::size_t n, std::size_t k, bool transpose_a,
                    bool transpose_b, bool add) {
  using S = statistic_t<C>;
  using Buffers = detail::ProductBuffers<S>;
  using namespace detail;
  constexpr std::size_t step = block_columns<S>;
  const ProductTiles tiles = ProductTiles::of<S>(m, n, k);

  parallel_for(tiles.down * tiles.across, [&](std::size_t tile) {
    Buffers buffers;  // padding that is read is also written, with something finite where a and b are
    const std::size_t i0 = block_begin(m, block_rows, tiles.down, tile % tiles.down);
    const std::size_t i1 = block_begin(m, block_rows, tiles.down, tile % tiles.down + 1), rows = i1 - i0;
    const std::size_t j0 = block_begin(n, step, tiles.across, tile / tiles.down);
    const std::size_t j1 = block_begin(n, step, tiles.across, tile / tiles.down + 1), columns = j1 - j0;
    if (rows == 0 || columns == 0) return;

    for (std::size_t p0 = 0; p0 < k; p0 += Buffers::depth) {
      const std::size_t depth = k - p0 < Buffers::depth ? k - p0 : Buffers::depth;
      if (transpose_a) {
        for (std::size_t p = 0; p < depth; ++p) copy_row(buffers.a + p * Buffers::rows, a + (p0 + p) * m + i0, rows);
      } else {
        for (std::size_t i = 0; i < rows; ++i) copy_row(buffers.a + i * Buffers::row_stride, a + (i0 + i) * k + p0, depth);
        for (std::size_t i = rows; i % (block_rows / 3) != 0; ++i)
          for (std::size_t p = 0; p < depth; ++p) buffers.a[i * Buffers::row_stride + p] = S(0);
      }
      for (std::size_t j = 0; j < columns; j += step) {
        S* const panel = buffers.b + j * Buffers::depth;
        const std::size_t width = columns - j < step ? columns - j : step;
        if (transpose_b) {
          transpose(panel, step, b + (j0 + j) * k + p0, k, width, depth);
        } else {
          for (std::size_t p = 0; p < depth; ++p) copy_row(panel + p * step, b + (p0 + p) * n + j0 + j, width);
        }
      }
      if (transpose_a)
        multiply_tile<S, 1, Buffers::rows, step>(rows, columns, depth, buffers.a, buffers.b, step * Buffers::depth, buffers.c,
                                           Buffers::columns, p0 > 0);
      else
        multiply_tile<S, Buffers::row_stride, 1, step>(rows, columns, depth, buffers.a, buffers.b, step * Buffers::depth,
                                                 buffers.c, Buffers::columns, p0 > 0);
    }
    for (std::size_t i = 0; i < rows; ++i) {
      const S* const from = buffers.c + i * Buffers::columns;
      C* const to = c + (i0 + i) * n + j0;
      for_each_vector<S>(0, columns, [&](std::size_t j, auto part) {
        const Vector<S> value = load<S>(from + j);
        store<S>(add ? load<S>(to + j, part) + value : value, to + j, part);
      });
    }
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
