// regimen/engine/cpu/amx_tiles.hpp — AMX: its tiles, and products of blocks in them.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/engine/cpu/packed_product.hpp>
#include <regimen/engine/cpu/parallel.hpp>
#include <regimen/engine/cpu/register_tile.hpp>

#include <cstddef>
#include <cstdint>

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
using cpu::detail::write_row;

// A tile: 16 rows of 16 words, which are pairs of bf16 along k, or fp32 sums. Eight of them:
// four of c, two of a, two of b.
inline constexpr std::size_t side = 16, block = 2 * side;
inline constexpr std::size_t tile = side * side;  // words
inline constexpr std::size_t rows = 256, columns = 256,
                             depth = 256;  // the block of c that is computed at a time; depth in pairs

/// The buffers of a chunk, on its stack: 528 KiB, made for an L2 cache of 1 MiB and more.
struct Buffers final {
  alignas(64) Pair a[rows * depth];  // tiles of 16 rows, one after the other along k, then the next 16 rows
  alignas(
      64) float c[rows * (columns +
                          side)];  // sums over the slices of k: 256 columns; of a single slice: 32 rows, 2048 columns
};
inline constexpr std::size_t most_columns = 2048;
/// Between rows of sums: off the powers of two, so that rows share few cache sets.
constexpr std::size_t sum_stride(std::size_t width) { return round_up(width, block) + side; }
static_assert(block * sum_stride(most_columns) <= rows * (columns + side));

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
#define REGIMEN_TILE_LOAD(tile, at, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(at), "r"(stride) : "memory")
#define REGIMEN_TILE_STORE(tile, at, stride) \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(at), "r"(stride) : "memory")
#define REGIMEN_TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile : :)
#define REGIMEN_TILE_ADD_PRODUCT(c, a, b) asm volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)

/// c[i][j] = Σ_p a[i][p] · b[p][j], or += if `add`, for 16 Rows rows, 16 Columns columns and `steps` steps of
/// 16 pairs. Tiles of a lie one after the other, those of the lower rows a_below words later; rows of c lie c_stride
/// numbers apart.
template <std::size_t Rows, std::size_t Columns>
void multiply_block(std::size_t steps, const Pair* a, std::size_t a_below, const Pair* b, float* c,
                    std::size_t c_stride, bool add) {
  constexpr long a_bytes = side * sizeof(Pair), b_bytes = block * sizeof(Pair);
  const long c_bytes = static_cast<long>(c_stride * sizeof(float));
  float* const below = c + side * c_stride;
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
  for (std::size_t step = 0; step < steps; ++step, a += tile, b += side * block) {
    REGIMEN_TILE_LOAD(6, b, b_bytes);
    if constexpr (Columns == 2) REGIMEN_TILE_LOAD(7, b + side, b_bytes);
    REGIMEN_TILE_LOAD(4, a, a_bytes);
    REGIMEN_TILE_ADD_PRODUCT(0, 4, 6);
    if constexpr (Columns == 2) REGIMEN_TILE_ADD_PRODUCT(1, 4, 7);
    if constexpr (Rows == 2) {
      REGIMEN_TILE_LOAD(5, a + a_below, a_bytes);
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
void multiply_block(std::size_t, const Pair*, std::size_t, const Pair*, float*, std::size_t, bool) {}

#endif

}  // namespace detail

}  // namespace regimen::cpu::amx
// SPDX-License-Identifier: Apache-2.0
