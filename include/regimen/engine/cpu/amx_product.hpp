// regimen/engine/cpu/amx_product.hpp — bf16 products in AMX tiles, on processors that have them.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/engine/cpu/packed_product.hpp>
#include <regimen/engine/cpu/parallel.hpp>
#include <regimen/engine/cpu/register_tile.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#define REGIMEN_AMX 1
#endif

namespace regimen::cpu::amx {

/// Whether the processor has tiles for bf16, and the system lets this process use them. Asked at run time, so a program
/// that was compiled for an older processor uses them, too.
inline bool is_available() {
#if REGIMEN_AMX
  static const bool is = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned bf16_tiles = 1u << 22, tiles = 1u << 24;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & bf16_tiles) == 0 || (d & tiles) == 0) return false;
    constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return is;
#else
  return false;
#endif
}

namespace detail {

using cpu::detail::Packing;
using cpu::detail::Pair;

// A tile: 16 rows of 16 words, which are pairs of bf16 along k, or fp32 sums. Eight of them:
// four of c, two of a, two of b.
inline constexpr std::size_t side = 16, block = 2 * side;
inline constexpr std::size_t rows = 256, columns = 256, depth = 256;  // the block of c that is computed at a time; depth in pairs
inline constexpr std::size_t a_stride = depth + side;                 // off the powers of two: rows share few cache sets

/// The buffers of a chunk, on its stack: 528 KiB, made for an L2 cache of 1 MiB and more.
struct Buffers final {
  alignas(64) Pair a[rows * a_stride];
  alignas(64) float c[rows * columns];
};

#if REGIMEN_AMX

struct alignas(64) TileShapes final {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {side, side, side, side, side, side, side, side};
};

/// The system saves tiles for every thread that uses them; so a chunk releases them at its end.
class Tiles final {
 public:
  Tiles() {
    static constexpr TileShapes shapes{};
    asm volatile("ldtilecfg %0" : : "m"(shapes));
  }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
  ~Tiles() { asm volatile("tilerelease"); }
};

// Instructions as text: then neither the compiler's flags nor its version matter.
#define REGIMEN_TILE_LOAD(tile, at, stride) asm volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(at), "r"(stride) : "memory")
#define REGIMEN_TILE_STORE(tile, at, stride) asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(at), "r"(stride) : "memory")
#define REGIMEN_TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile : :)
#define REGIMEN_TILE_ADD_PRODUCT(c, a, b) asm volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)

/// c[i][j] = Σ_p a[i][p] · b[p][j], or += if `add`, for 16 Rows rows, 16 Columns columns and
/// `words` pairs, a multiple of 16.
template <std::size_t Rows, std::size_t Columns>
void multiply_block(std::size_t words, const Pair* a, const Pair* b, float* c, bool add) {
  constexpr long a_bytes = a_stride * sizeof(Pair), b_bytes = block * sizeof(Pair), c_bytes = columns * sizeof(float);
  float* const below = c + side * columns;
  if (add) {
    REGIMEN_TILE_LOAD(0, c, c_bytes);
    if constexpr (Columns == 2) REGIMEN_TILE_LOAD(1, c + side, c_bytes);
    if constexpr (Rows == 2) REGIMEN_TILE_LOAD(2, below, c_bytes);
    if constexpr (Rows == 2 && Columns == 2) REGIMEN_TILE_LOAD(3, below + side, c_bytes);
  } else {
    REGIMEN_TILE_ZERO(0);
    REGIMEN_TILE_ZERO(1);
    REGIMEN_TILE_ZERO(2);
    REGIMEN_TILE_ZERO(3);
  }
  for (std::size_t p = 0; p < words; p += side, a += side, b += side * block) {
    REGIMEN_TILE_LOAD(6, b, b_bytes);
    if constexpr (Columns == 2) REGIMEN_TILE_LOAD(7, b + side, b_bytes);
    REGIMEN_TILE_LOAD(4, a, a_bytes);
    REGIMEN_TILE_ADD_PRODUCT(0, 4, 6);
    if constexpr (Columns == 2) REGIMEN_TILE_ADD_PRODUCT(1, 4, 7);
    if constexpr (Rows == 2) {
      REGIMEN_TILE_LOAD(5, a + side * a_stride, a_bytes);
      REGIMEN_TILE_ADD_PRODUCT(2, 5, 6);
      if constexpr (Columns == 2) REGIMEN_TILE_ADD_PRODUCT(3, 5, 7);
    }
  }
  REGIMEN_TILE_STORE(0, c, c_bytes);
  if constexpr (Columns == 2) REGIMEN_TILE_STORE(1, c + side, c_bytes);
  if constexpr (Rows == 2) REGIMEN_TILE_STORE(2, below, c_bytes);
  if constexpr (Rows == 2 && Columns == 2) REGIMEN_TILE_STORE(3, below + side, c_bytes);
}

#undef REGIMEN_TILE_LOAD
#undef REGIMEN_TILE_STORE
#undef REGIMEN_TILE_ZERO
#undef REGIMEN_TILE_ADD_PRODUCT

#else

struct Tiles final {};
template <std::size_t Rows, std::size_t Columns>
void multiply_block(std::size_t, const Pair*, const Pair*, float*, bool) {}

#endif

constexpr std::size_t round_up(std::size_t count, std::size_t to) { return (count + to - 1) / to * to; }

/// Rows of a that cross k: to[i][word of p] = from[p][i] for i < count, p < deep; zeros up to whole tiles.
inline void turn_rows(Pair* to, const bf16* from, std::size_t from_stride, std::size_t count, std::size_t deep) {
  using Words = Packing<Pair>::Words;
  using Halves = Packing<Pair>::Halves;
  constexpr std::size_t width = Packing<Pair>::width;
  for (std::size_t i = 0; i < round_up(count, side); i += width) {
    const std::size_t left = i < count ? count - i : 0;
    const auto row = [&](std::size_t p) -> Words {
      if (p >= deep || left == 0) return Words{};
      const bf16* const at = from + p * from_stride + i;
      return cpu::detail::extend(left >= width ? cpu::detail::read<Halves>(at, Whole{}) : cpu::detail::read<Halves>(at, left));
    };
    for (std::size_t p = 0; p < round_up(deep, block); p += 2 * width)
      cpu::detail::transpose_square<Words>([&](std::size_t q) -> Words { return row(p + 2 * q) | row(p + 2 * q + 1) << 16; },
                                           [&](std::size_t r, Words words) { cpu::detail::write(words, to + (i + r) * a_stride + p / 2, Whole{}); },
                                           std::make_index_sequence<width>{});
  }
}
/// Rows of a that follow k, likewise.
inline void copy_rows(Pair* to, const bf16* from, std::size_t from_stride, std::size_t count, std::size_t deep) {
  const std::size_t bytes = deep * sizeof(bf16), whole = round_up(deep, block) * sizeof(bf16);
  for (std::size_t i = 0; i < round_up(count, side); ++i) {
    std::byte* const row = reinterpret_cast<std::byte*>(to + i * a_stride);
    const std::size_t used = i < count ? bytes : 0;
    if (used > 0) std::memcpy(row, from + i * from_stride, used);
    if (whole > used) std::memset(row + used, 0, whole - used);
  }
}

/// Memory for b in the tiles' layout. Each thread keeps as much as its largest product so far needed.
class PackedOperand final {
 public:
  static Pair* of(std::size_t words) {
    thread_local PackedOperand here;
    if (words > here.words_) {
      std::free(here.at_);
      here.words_ = 0;
      here.at_ = static_cast<Pair*>(std::aligned_alloc(64, round_up(words * sizeof(Pair), 64)));
      if (here.at_ == nullptr) throw std::bad_alloc();
      here.words_ = words;
    }
    return here.at_;
  }
  PackedOperand() = default;
  PackedOperand(const PackedOperand&) = delete;
  PackedOperand& operator=(const PackedOperand&) = delete;
  ~PackedOperand() { std::free(at_); }

 private:
  Pair* at_ = nullptr;
  std::size_t words_ = 0;
};

/// Columns of b that are packed at a time: what fits into 16 MiB, at least one panel.
constexpr std::size_t slab_columns(std::size_t n, std::size_t words) {
  const std::size_t fitting = (std::size_t{4} << 20) / words / columns * columns;
  return fitting == 0 ? columns : fitting < n ? fitting : round_up(n, block);
}

}  // namespace detail

/// c = op(a) · op(b), or c +=, of dense row-major bf16 into bf16 or fp32 (C).
///
/// error   sums over all of k in fp32, from the first pair to the last, then one rounding to C: a function of the
///         operands alone. Subnormal operands and sums count as 0
/// cost    packs b once and a once for every 256 columns of c; keeps up to 16 MiB for that
template <class C>
void product(const bf16* a, const bf16* b, C* c, std::size_t m, std::size_t n, std::size_t k, bool transpose_a, bool transpose_b, bool add) {
  using namespace detail;
  static_assert(std::is_same_v<C, bf16> || std::is_same_v<C, float>);
  constexpr std::size_t slice = 2 * depth;
  const std::size_t words = round_up(k, block) / 2, slab = slab_columns(n, words);
  Pair* const packed = PackedOperand::of(words * (slab < round_up(n, block) ? slab : round_up(n, block)));

  for (std::size_t n0 = 0; n0 < n; n0 += slab) {
    const std::size_t wide = n - n0 < slab ? n - n0 : slab, panels = (wide + block - 1) / block, slices = (k + slice - 1) / slice;
    parallel_for(panels * slices, [&](std::size_t chunk) {
      const std::size_t panel = chunk % panels, p0 = chunk / panels * slice, deep = k - p0 < slice ? k - p0 : slice;
      const std::size_t j0 = n0 + panel * block, width = n - j0 < block ? n - j0 : block;
      Pair* const to = packed + (panel * words + p0 / 2) * block;
      if (transpose_b) Packing<Pair>::turn(to, block, b + j0 * k + p0, k, width, deep);
      else Packing<Pair>::stack(to, block, b + p0 * n + j0, n, deep, width);
      for (std::size_t p = (deep + 1) / 2; p < round_up(deep, block) / 2; ++p) std::memset(to + p * block, 0, block * sizeof(Pair));
    });

    std::size_t down = (m + rows - 1) / rows, across = (wide + columns - 1) / columns;
    while (down * across < 32) {  // cuts into more tiles than the buffers need, so that several threads have work
      const std::size_t height = m / down, width = wide / across;
      if (height * width * k < (std::size_t{1} << 23)) break;
      if (height >= width && height >= 4 * block) down *= 2;
      else if (width >= 4 * block) across *= 2;
      else break;
    }
    parallel_for(down * across, [&](std::size_t tile) {
      Buffers buffers;
      const Tiles tiles;
      const std::size_t i0 = cpu::detail::block_begin(m, block, down, tile % down), i1 = cpu::detail::block_begin(m, block, down, tile % down + 1);
      const std::size_t j0 = cpu::detail::block_begin(wide, block, across, tile / down),
                        j1 = cpu::detail::block_begin(wide, block, across, tile / down + 1);
      const std::size_t high = i1 - i0, width = j1 - j0;
      if (high == 0 || width == 0) return;
      for (std::size_t p0 = 0; p0 < k; p0 += slice) {
        const std::size_t deep = k - p0 < slice ? k - p0 : slice, pairs = round_up(deep, block) / 2;
        if (transpose_a) turn_rows(buffers.a, a + p0 * m + i0, m, high, deep);
        else copy_rows(buffers.a, a + i0 * k + p0, k, high, deep);
        for (std::size_t j = 0; j < width; j += block) {
          const Pair* const right = packed + ((j0 + j) / block * words + p0 / 2) * block;
          for (std::size_t i = 0; i < high; i += block) {
            const Pair* const left = buffers.a + i * a_stride;
            float* const to = buffers.c + i * columns + j;
            const bool two_down = high - i > side, two_across = width - j > side;
            if (two_down && two_across) multiply_block<2, 2>(pairs, left, right, to, p0 > 0);
            else if (two_down) multiply_block<2, 1>(pairs, left, right, to, p0 > 0);
            else if (two_across) multiply_block<1, 2>(pairs, left, right, to, p0 > 0);
            else multiply_block<1, 1>(pairs, left, right, to, p0 > 0);
          }
        }
      }
      for (std::size_t i = 0; i < high; ++i) {
        const float* const from = buffers.c + i * columns;
        C* const to = c + (i0 + i) * n + n0 + j0;
        for_each_vector<float>(0, width, [&](std::size_t j, auto part) {
          const Vector<float> value = load<float>(from + j);
          store<float>(add ? load<float>(to + j, part) + value : value, to + j, part);
        });
      }
    });
  }
}

}  // namespace regimen::cpu::amx
// SPDX-License-Identifier: Apache-2.0
