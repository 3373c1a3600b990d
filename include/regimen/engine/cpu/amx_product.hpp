// regimen/engine/cpu/amx_product.hpp — bf16 products in AMX tiles, on processors that have them.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/engine/cpu/amx_tiles.hpp>
#include <regimen/engine/cpu/matrix_product.hpp>
#include <regimen/engine/cpu/packed_product.hpp>
#include <regimen/engine/cpu/parallel.hpp>
#include <regimen/engine/cpu/register_tile.hpp>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace regimen::cpu::amx {

namespace detail {

/// Packs rows of a along k into tiles: `count` rows, `deep` numbers of each; zeros up to whole tiles. Tiles of the next
/// 16 rows lie `below` words later.
inline void copy_rows(Pair* to, std::size_t below, const bf16* from, std::size_t from_stride, std::size_t count,
                      std::size_t deep) {
  for (std::size_t i = 0; i < round_up(count, side); ++i) {
    Pair* const row = to + i / side * below + i % side * side;
    const std::size_t used = i < count ? deep : 0;
    std::size_t p = 0;
    for (; p + block <= used; p += block)
      std::memcpy(row + p / block * tile, from + i * from_stride + p, side * sizeof(Pair));
    for (; p < deep; p += block) {
      std::memset(row + p / block * tile, 0, side * sizeof(Pair));
      if (p < used) std::memcpy(row + p / block * tile, from + i * from_stride + p, (used - p) * sizeof(bf16));
    }
  }
}
/// Packs rows of a across k into the same tiles: the rows `down`, the numbers `along` of each, both from a multiple of
/// 32 on. Reads one cache line of every second row at a time, so each line is loaded once, whatever the stride.
inline void turn_rows(Pair* to, std::size_t below, const bf16* from, std::size_t from_stride, Range down, Range along) {
  using cpu::detail::Words;
  constexpr std::size_t width = Packing<Pair>::width;
  // Registers may be shorter than a tile's rows: zeros follow to the end of the tile, where an earlier product's
  // numbers lie.
  for (std::size_t p = along.begin; p < round_up(along.end, block); p += 2 * width)
    for (std::size_t i = down.begin; i < round_up(down.end, side); i += 2 * width) {
      const std::size_t left = i < down.end ? down.end - i : 0;
      const auto row = [&](std::size_t q) -> Words {
        if (q >= along.end || left == 0) return Words{};
        const bf16* const at = from + q * from_stride + i;
        return left >= 2 * width ? cpu::detail::read<Words>(at, Whole{}) : cpu::detail::read<Words>(at, left);
      };
      Words square[2][width];  // of the even columns, and of the odd ones
      for (std::size_t q = 0; q < width; ++q) {
        const Words first = row(p + 2 * q), second = row(p + 2 * q + 1);
        square[0][q] = (first & 0xFFFFu) | second << 16;
        square[1][q] = first >> 16 | (second & 0xFFFF'0000u);
      }
      for (auto& one : square) cpu::detail::transpose_square(one);
      for (std::size_t r = 0; r < 2 * width; ++r)
        if (const std::size_t at = i + r; at < round_up(down.end, side))
          cpu::detail::write(square[r % 2][r / 2],
                             to + at / side * below + p / block * tile + at % side * side + p % block / 2, Whole{});
    }
}

/// Packs rows of b across k into panels of 32 columns: columns [first, last), `deep` <= 32 rows, and zeros to the 32nd;
/// first is a multiple of 32. Rows of the next panel lie `panel` words later. Reads along the rows, in memory order.
inline void stack_rows(Pair* to, std::size_t panel, const bf16* from, std::size_t from_stride, std::size_t first,
                       std::size_t last, std::size_t deep) {
  for (std::size_t p = 0; p < deep; p += 2)
    for (std::size_t j = first; j < last; j += block) {
      const bf16* const row = from + p * from_stride + j;
      Packing<Pair>::stack(to + j / block * panel + p / 2 * block, block, row, from_stride, deep - p < 2 ? 1 : 2,
                           last - j < block ? last - j : block);
    }
  for (std::size_t p = (deep + 1) / 2; p < side; ++p)
    for (std::size_t j = first; j < last; j += block)
      std::memset(to + j / block * panel + p * block, 0, block * sizeof(Pair));
}

enum class Factor { a, b };

/// Memory for an operand in the tiles' layout. Each thread keeps as much as its largest product so far needed.
template <Factor>
Pair* packed_operand(std::size_t words) {
  thread_local std::unique_ptr<Pair[], void (*)(void*)> here{nullptr, &std::free};
  thread_local std::size_t room = 0;
  if (words > room) {
    room = 0;
    here.reset();
    here.reset(static_cast<Pair*>(std::aligned_alloc(64, round_up(words * sizeof(Pair), 64))));
    if (here == nullptr) throw std::bad_alloc();
    room = words;
  }
  return here.get();
}

/// Columns of b that are packed at a time: as many as fit into 16 MiB, at least one panel.
constexpr std::size_t slab_columns(std::size_t n, std::size_t words) {
  const std::size_t fitting = (std::size_t{4} << 20) / words / columns * columns;
  return fitting == 0 ? columns : fitting < n ? fitting : round_up(n, block);
}

/// Rows of a that are transposed at a time: as many as fit into 4 MiB, at least 128.
constexpr std::size_t slab_rows(std::size_t m, std::size_t words) {
  const std::size_t fitting = (std::size_t{1} << 20) / words / block * block, most = fitting < 128 ? 128 : fitting;
  return most < m ? most : round_up(m, block);
}

/// How c is cut among threads, without effect on bits: 2 pieces per processor, if a piece keeps 2^23 multiplications.
/// Few, large pieces, because tiles read faster than shared caches deliver: a piece of 256 rows and columns reads both
/// factors from there. If k is one slice, sums are computed 32 rows at a time, and a piece is as wide as c, up to 2048
/// columns.
struct Pieces final {
  std::size_t down = 1, across = 1;

  static Pieces of(std::size_t m, std::size_t n, std::size_t k) {
    const std::size_t most = k <= 2 * depth ? most_columns : columns;
    Pieces pieces{(m + rows - 1) / rows, (n + most - 1) / most};
    while (pieces.down * pieces.across < 2 * cpu::detail::machine_processors()) {
      const std::size_t height = m / pieces.down, width = n / pieces.across;
      if (height * width * k < (std::size_t{1} << 23)) break;
      if ((height >= width || k <= 2 * depth) && height >= 4 * block) pieces.down *= 2;
      else if (width >= 4 * block) pieces.across *= 2;
      else break;
    }
    return pieces;
  }
};

/// c is of bf16 or of fp32. Which of them is a value, so that all of a product but the writing of rows exists once.
using Product = MatrixProduct<bf16, bf16, void>;

/// Columns [n0, n0 + wide) of b, all of its rows.
inline void pack_columns(const Product& o, Pair* packed, std::size_t words, std::size_t n0, std::size_t wide) {
  constexpr std::size_t slice = 2 * depth;
  const std::size_t n = o.n, k = o.k;
  if (o.transpose_b) {
    const std::size_t panels = (wide + block - 1) / block, slices = (k + slice - 1) / slice;
    parallel_for(panels * slices, [&](std::size_t chunk) {
      const std::size_t panel = chunk % panels, p0 = chunk / panels * slice, deep = k - p0 < slice ? k - p0 : slice;
      const std::size_t j0 = n0 + panel * block, width = n - j0 < block ? n - j0 : block;
      Pair* const to = packed + (panel * words + p0 / 2) * block;
      Packing<Pair>::turn(to, block, o.b + j0 * o.ldb + p0, o.ldb, width, deep);
      for (std::size_t p = (deep + 1) / 2; p < round_up(deep, block) / 2; ++p)
        std::memset(to + p * block, 0, block * sizeof(Pair));
    });
    return;
  }
  constexpr std::size_t most = 1024;
  const std::size_t strips = (wide + most - 1) / most;
  parallel_for((k + block - 1) / block * strips, [&](std::size_t chunk) {
    const std::size_t p0 = chunk / strips * block, first = chunk % strips * most,
                      last = wide - first < most ? wide : first + most;
    stack_rows(packed + p0 / 2 * block, words * block, o.b + p0 * o.ldb + n0, o.ldb, first, last,
               k - p0 < block ? k - p0 : block);
  });
}

/// Rows [m0, m0 + tall) of a transposed a.
inline void pack_turned_rows(const Product& o, Pair* packed, std::size_t words, std::size_t m0, std::size_t tall) {
  constexpr std::size_t deep = 128, across = 512;
  const std::size_t k = o.k, strips = (tall + across - 1) / across;
  parallel_for((k + deep - 1) / deep * strips, [&](std::size_t chunk) {
    const std::size_t p = chunk / strips * deep, i = chunk % strips * across;
    turn_rows(packed, words * side, o.a + m0, o.lda, {i, tall - i < across ? tall : i + across},
              {p, k - p < deep ? k : p + deep});
  });
}

/// A piece of c: its place in a slab of columns and a band of rows, and the packed factors of these.
struct PieceOfProduct final {
  const Product& o;
  bool is_narrow;  // c is of bf16
  const Pair *packed_a, *packed_b;
  std::size_t words, m0, n0, i0, high, j0, width;

  void compute() const {
    constexpr std::size_t slice = 2 * depth;
    Buffers buffers;
    const Tiles tiles;
    const std::size_t stride = sum_stride(width), k = o.k;
    for (std::size_t p0 = 0; p0 < k; p0 += slice) {
      const std::size_t deep = k - p0 < slice ? k - p0 : slice, steps = (deep + block - 1) / block;
      const Pair* left = buffers.a;
      if (o.transpose_a) left = packed_a + i0 * words + p0 / block * tile;
      else copy_rows(buffers.a, side * depth, o.a + (m0 + i0) * o.lda + p0, o.lda, high, deep);
      const std::size_t below = side * (o.transpose_a ? words : depth);
      const auto multiply = [&](std::size_t i, std::size_t j, float* to) {
        const bool two_down = high - i > side, two_across = width - j > side;
        const Pair* const upper = left + i / side * below;
        const Pair* const right = packed_b + ((j0 + j) / block * words + p0 / 2) * block;
        if (two_down && two_across) multiply_block<2, 2>(steps, upper, below, right, to, stride, p0 > 0);
        else if (two_down) multiply_block<2, 1>(steps, upper, below, right, to, stride, p0 > 0);
        else if (two_across) multiply_block<1, 2>(steps, upper, below, right, to, stride, p0 > 0);
        else multiply_block<1, 1>(steps, upper, below, right, to, stride, p0 > 0);
      };
      if (k <= slice) {
        for (std::size_t i = 0; i < high; i += block) {
          for (std::size_t j = 0; j < width; j += block) multiply(i, j, buffers.c + j);
          write(buffers.c, stride, i, high - i < block ? high - i : block);
        }
      } else {
        for (std::size_t j = 0; j < width; j += block)
          for (std::size_t i = 0; i < high; i += block) multiply(i, j, buffers.c + i * stride + j);
        if (p0 + slice >= k) write(buffers.c, stride, 0, high);
      }
    }
  }

 private:
  /// Whole rows: short pieces are slower to write.
  void write(const float* sums, std::size_t stride, std::size_t first, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (m0 + i0 + first + i) * o.ldc + n0 + j0;
      if (is_narrow) write_row(static_cast<bf16*>(o.c) + at, sums + i * stride, width, o.add);
      else write_row(static_cast<float*>(o.c) + at, sums + i * stride, width, o.add);
    }
  }
};

inline void product(const Product& o, bool is_narrow) {
  const std::size_t m = o.m, n = o.n, k = o.k;
  const std::size_t words = round_up(k, block) / 2, slab = slab_columns(n, words),
                    band = o.transpose_a ? slab_rows(m, words) : m;
  Pair* const packed_b = packed_operand<Factor::b>(words * (slab < round_up(n, block) ? slab : round_up(n, block)));
  Pair* const packed_a = o.transpose_a ? packed_operand<Factor::a>(words * band) : nullptr;

  for (std::size_t n0 = 0; n0 < n; n0 += slab) {
    const std::size_t wide = n - n0 < slab ? n - n0 : slab;
    pack_columns(o, packed_b, words, n0, wide);
    for (std::size_t m0 = 0; m0 < m; m0 += band) {
      const std::size_t tall = m - m0 < band ? m - m0 : band;
      if (o.transpose_a) pack_turned_rows(o, packed_a, words, m0, tall);
      const Pieces pieces = Pieces::of(tall, wide, k);
      parallel_for(pieces.down * pieces.across, [&](std::size_t piece) {
        const Range down = cpu::detail::block_range(tall, block, pieces.down, piece / pieces.across),
                    across = cpu::detail::block_range(wide, block, pieces.across, piece % pieces.across);
        if (down.begin == down.end || across.begin == across.end) return;
        PieceOfProduct{.o = o,
                       .is_narrow = is_narrow,
                       .packed_a = packed_a,
                       .packed_b = packed_b,
                       .words = words,
                       .m0 = m0,
                       .n0 = n0,
                       .i0 = down.begin,
                       .high = down.end - down.begin,
                       .j0 = across.begin,
                       .width = across.end - across.begin}
            .compute();
      });
    }
  }
}

}  // namespace detail

/// The product of bf16 into bf16 or fp32 (C).
///
/// error   sums over all of k in fp32, from the first pair to the last, then one rounding to C: a function of the
///         operands alone. Subnormal operands and sums count as 0
/// cost    packs b once, into up to 16 MiB, which it keeps; packs a once for every 256 columns of c, but a transposed a
///         once, into up to 4 MiB (or 128 rows, if these are larger)
template <class C>
void product(const MatrixProduct<bf16, bf16, C>& o) {
  static_assert(std::is_same_v<C, bf16> || std::is_same_v<C, float>);
  // nvcc writes a braced argument without its type out wrongly.
  const detail::Product any{.a = o.a,
                            .b = o.b,
                            .c = o.c,
                            .m = o.m,
                            .n = o.n,
                            .k = o.k,
                            .transpose_a = o.transpose_a,
                            .transpose_b = o.transpose_b,
                            .add = o.add,
                            .lda = o.lda,
                            .ldb = o.ldb,
                            .ldc = o.ldc};
  detail::product(any, std::is_same_v<C, bf16>);
}

}  // namespace regimen::cpu::amx
// SPDX-License-Identifier: Apache-2.0
