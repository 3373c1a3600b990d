// regimen/engine/cpu/product.hpp — selects the matrix product of the CPU that computes op::Product.
#pragma once

#include <regimen/core/defect.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/core/view.hpp>
#include <regimen/engine/cpu/amx_product.hpp>
#include <regimen/engine/cpu/blas.hpp>
#include <regimen/engine/cpu/matrix_product.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/onednn.hpp>
#include <regimen/engine/cpu/packed_product.hpp>
#include <regimen/engine/cpu/series_product.hpp>
#include <regimen/engine/cpu/single_thread.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#if REGIMEN_HAS_CBLAS
#include <cblas.h>
#endif

#include <cstddef>
#include <string>
#include <type_traits>

namespace regimen::cpu {

namespace detail {

/// The implementation of fp32 or fp64 products.
enum class Products { packed, blas, onednn };

/// A function of the processor and the loaded libraries.
template <class S>
Products products_of() {
#if REGIMEN_HAS_ONEDNN
  if constexpr (std::is_same_v<S, fp32>)
    if (onednn::is_fastest()) return Products::onednn;
#endif
#if REGIMEN_HAS_CBLAS
  if constexpr (std::is_same_v<S, fp32> || std::is_same_v<S, fp64>)
    if (Blas::here().fast) return Products::blas;
#endif
  return Products::packed;
}

#if REGIMEN_HAS_CBLAS
template <class S>
void blas_product(const MatrixProduct<S>& o) {
  const auto transpose = [](bool is) { return is ? CblasTrans : CblasNoTrans; };
  const auto size = [](std::size_t value) { return static_cast<int>(value); };
  const auto call = [&](const auto& gemm) {
    gemm(CblasRowMajor, transpose(o.transpose_a), transpose(o.transpose_b), size(o.m), size(o.n), size(o.k), S(1), o.a,
         size(o.lda), o.b, size(o.ldb), o.add ? S(1) : S(0), o.c, size(o.ldc));
  };
  if constexpr (std::is_same_v<S, fp32>) call(cblas_sgemm);
  else call(cblas_dgemm);
}
#endif

/// How c is cut for a library that computes each tile on one thread: a function of the shape and the machine, not of
/// the number of threads. Halves the longer side until there are two tiles per processor, but keeps at least 2^21
/// multiplications (some 30 µs) and 96 rows and columns per tile: with fewer, libraries spend their time on packing.
struct LibraryTiles final {
  std::size_t down = 1, across = 1;

  static constexpr LibraryTiles of(std::size_t m, std::size_t n, std::size_t k, std::size_t processors) {
    LibraryTiles tiles;
    while (tiles.down * tiles.across < 2 * processors) {
      const std::size_t height = m / tiles.down, width = n / tiles.across;
      if (height * width * k < (std::size_t{1} << 22)) break;
      if (height >= width && height >= 192) tiles.down *= 2;
      else if (width >= 192) tiles.across *= 2;
      else break;
    }
    return tiles;
  }
};

/// The product by call(part), which computes one tile on the calling thread.
template <class S, class Call>
void product_by_tiles(const MatrixProduct<S>& o, const Call& call) {
  const LibraryTiles tiles = LibraryTiles::of(o.m, o.n, o.k, machine_processors());
  const SingleThread library;
  parallel_for(tiles.down * tiles.across, [&](std::size_t tile) {
    const std::size_t i = tile % tiles.down, j = tile / tiles.down;
    const Range down = block_range(o.m, 16, tiles.down, i), across = block_range(o.n, 16, tiles.across, j);
    call(o.part(down.begin, across.begin, down.end - down.begin, across.end - across.begin));
  });
}

template <class A, class B, class C>
inline constexpr bool is_bf16_product =
    std::is_same_v<A, bf16> && std::is_same_v<B, bf16> && (std::is_same_v<C, bf16> || std::is_same_v<C, fp32>);

template <class A, class B, class C>
inline constexpr bool is_library_product =
    std::is_same_v<A, B> && std::is_same_v<B, C> && (std::is_same_v<C, fp32> || std::is_same_v<C, fp64>);

constexpr bool is_counted_in_int(std::size_t m, std::size_t n, std::size_t k) {  // as CBLAS does
  constexpr std::size_t largest = 0x7FFF'FFFF;
  return m <= largest && n <= largest && k <= largest;
}

}  // namespace detail

/// The implementation of products of these types, for people: the library and its version, or the portable product.
template <class A, class B, class C>
std::string product_path() {
  using detail::Products;
  if constexpr (std::is_same_v<C, tf32>) return product_path<fp32, fp32, fp32>() + ", of factors rounded to tf32";
  if constexpr (detail::is_library_product<A, B, C>) {
    std::string name;
#if REGIMEN_HAS_ONEDNN
    if (detail::products_of<C>() == Products::onednn) name = onednn::name();
#endif
    if (detail::products_of<C>() == Products::blas) name = Blas::here().name;
    if (!name.empty())
      return name.append(", in tiles for ").append(std::to_string(detail::machine_processors())).append(" processors");
  }
  std::string unused;
#if REGIMEN_HAS_CBLAS
  if (!Blas::here().fast) unused = "; " + Blas::here().name + " is not known to be fast: not used";
#endif
  if constexpr (detail::is_bf16_product<A, B, C>)
    if (amx::is_available()) return "packed bf16 (amx-bf16)";
  if constexpr (detail::multiplies_pairs && detail::is_bf16_product<A, B, C>) return "packed bf16 (avx512-bf16)";
  else if constexpr (std::is_same_v<statistic_t<C>, fp64>) return "packed fp64" + unused;
  else if constexpr (std::is_same_v<A, fp32> && std::is_same_v<B, fp32> && std::is_same_v<C, fp32>)
    return "packed fp32" + unused;
  else if constexpr (std::is_same_v<A, bf16> || std::is_same_v<B, bf16> || std::is_same_v<C, bf16>)
    return "packed fp32 (bf16 storage)";
  else return "packed fp32 (fp16 storage)";
}

/// op::Product on the CPU.
///
/// error   fp32, fp64: that of the path, at most k roundings of partial sums; 16-bit operands are exact
///         in fp32, and c is rounded once. A function of the shape, the types, the machine and the
///         library; not of the number of threads
template <class A, class B, class C>
void compute(const op::Product<A, B, C>& o, const Memory& at) {
  if (o.a_leading + o.c_leading > 0) defect("a product of the CPU got a matrix that is not dense");
  const MatrixProduct<A, B, C> product{.a = at(o.a),
                                       .b = at(o.b),
                                       .c = at(o.c),
                                       .m = o.m,
                                       .n = o.n,
                                       .k = o.k,
                                       .transpose_a = o.transpose_a,
                                       .transpose_b = o.transpose_b,
                                       .add = o.add};
  if (o.m * o.n * o.k == 0) {  // a rank without samples
    for (std::size_t i = 0; i < o.m * o.n && !o.add; ++i) product.c[i] = C{};
    return;
  }
  if constexpr (detail::is_library_product<A, B, C>) {
    if (o.in_series && !o.transpose_a && stays_near<C>(o.n, o.k)) return series_product(product);
    const detail::Products products =
        detail::is_counted_in_int(o.m, o.n, o.k) ? detail::products_of<C>() : detail::Products::packed;
    if (products != detail::Products::packed)
      return detail::product_by_tiles(product, [&]([[maybe_unused]] const MatrixProduct<C>& tile) {
#if REGIMEN_HAS_ONEDNN
        if constexpr (std::is_same_v<C, fp32>)
          if (products == detail::Products::onednn) return onednn::product(tile);
#endif
#if REGIMEN_HAS_CBLAS
        detail::blas_product(tile);
#endif
      });
  }
  if constexpr (detail::is_bf16_product<A, B, C>)
    if (amx::is_available()) return amx::product(product);
  packed_product(product);
}

/// The fp32 product of copies of both factors, each rounded to tf32.
template <class C>
void compute(const op::Product<tf32, tf32, C>& o, const Memory& at) {
  if (o.a_leading + o.c_leading > 0) defect("a product of the CPU got a matrix that is not dense");
  const auto product_of = [&](std::size_t a, std::size_t b) {
    compute(op::Product<fp32, fp32, C>{.a = {a},
                                       .b = {b},
                                       .c = o.c,
                                       .m = o.m,
                                       .n = o.n,
                                       .k = o.k,
                                       .transpose_a = o.transpose_a,
                                       .transpose_b = o.transpose_b,
                                       .add = o.add},
            at);
  };
  if (o.m * o.n * o.k == 0) return product_of(o.a.offset, o.b.offset);
  const auto round = [&](std::size_t offset, std::size_t to, std::size_t count) {
    const fp32* const x = at(View<fp32>{offset});
    fp32* const y = at(View<fp32>{to});
    for_each_of(count, 2, [&](std::size_t i) { y[i] = tf32(x[i]); });
  };
  const std::size_t a = at.scratch, b = at.scratch + aligned_bytes(o.m * o.k * sizeof(fp32));
  round(o.a.offset, a, o.m * o.k);
  round(o.b.offset, b, o.k * o.n);
  product_of(a, b);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
