// regimen/engine/cpu/product.hpp — which of the CPU's matrix products computes op::Product.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/onednn.hpp>
#include <regimen/engine/cpu/packed_product.hpp>

#if REGIMEN_HAS_CBLAS
#include <cblas.h>
#endif

#include <cstddef>
#include <type_traits>

namespace regimen::cpu {

namespace detail {

template <class A, class B, class C>
inline constexpr bool is_blas_product = std::is_same_v<A, B> && std::is_same_v<B, C> && (std::is_same_v<C, fp32> || std::is_same_v<C, fp64>);

template <class A, class B, class C>
inline constexpr bool is_bf16_product = std::is_same_v<A, bf16> && std::is_same_v<B, bf16> && (std::is_same_v<C, bf16> || std::is_same_v<C, fp32>);

/// Does CBLAS take the shape? Middle sizes are better off with the packed product when it is compiled for wide vectors
/// and FMA: BLAS libraries use one thread, or cut too finely, just above their small-matrix kernels (bench/run/kernels).
constexpr bool prefers_blas(std::size_t m, std::size_t n, std::size_t k) {
  constexpr std::size_t largest = 0x7FFF'FFFF;  // CBLAS counts in int
  if (m > largest || n > largest || k > largest) return false;
#if defined(__FMA__)
  const std::size_t multiplications = m * n * k;
  return multiplications < std::size_t{1'000'000} || multiplications >= std::size_t{100'000'000};
#else
  return true;
#endif
}

#if REGIMEN_HAS_CBLAS
template <class S>
void blas_product(const S* a, const S* b, S* c, std::size_t m, std::size_t n, std::size_t k, bool transpose_a, bool transpose_b, bool add) {
  const CBLAS_TRANSPOSE op_a = transpose_a ? CblasTrans : CblasNoTrans, op_b = transpose_b ? CblasTrans : CblasNoTrans;
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), depth = static_cast<int>(k);
  const int lda = transpose_a ? rows : depth, ldb = transpose_b ? depth : columns;
  const S beta = add ? S(1) : S(0);
  if constexpr (std::is_same_v<S, fp32>) cblas_sgemm(CblasRowMajor, op_a, op_b, rows, columns, depth, S(1), a, lda, b, ldb, beta, c, columns);
  else cblas_dgemm(CblasRowMajor, op_a, op_b, rows, columns, depth, S(1), a, lda, b, ldb, beta, c, columns);
}
#endif

}  // namespace detail

/// What computes products of these types here, for people. The path of one product is a function of its shape, its types
/// and the processor.
template <class A, class B, class C>
const char* product_path() {
#if REGIMEN_HAS_CBLAS
  if constexpr (detail::is_blas_product<A, B, C>) return detail::prefers_blas(200, 200, 200) ? "cblas" : "cblas (packed for middle sizes)";
#endif
#if REGIMEN_HAS_ONEDNN
  if constexpr (detail::is_bf16_product<A, B, C>)
    if (onednn::has_bf16_tiles() || onednn::forced) return onednn::has_bf16_tiles() ? "onednn amx-bf16" : "onednn bf16 (forced)";
#endif
  if constexpr (detail::multiplies_pairs && detail::is_bf16_product<A, B, C>) return "packed bf16 (avx512-bf16)";
  else if constexpr (std::is_same_v<statistic_t<C>, fp64>) return "packed fp64";
  else if constexpr (std::is_same_v<A, fp32> && std::is_same_v<B, fp32> && std::is_same_v<C, fp32>) return "packed fp32";
  else if constexpr (std::is_same_v<A, bf16> || std::is_same_v<B, bf16> || std::is_same_v<C, bf16>) return "packed fp32 (bf16 storage)";
  else return "packed fp32 (fp16 storage)";
}

/// op::Product on the CPU.
///
/// error   fp32, fp64: that of the path, at most k roundings of partial sums; 16-bit operands are exact in fp32, and c is
///         rounded once. Packed products do not depend on the number of threads; those of CBLAS and oneDNN may.
template <class A, class B, class C>
void compute(const op::Product<A, B, C>& o, const Memory& at) {
  const A* const a = at(o.a);
  const B* const b = at(o.b);
  C* const c = at(o.c);
  if (o.m * o.n * o.k == 0) {  // a rank without samples
    for (std::size_t i = 0; i < o.m * o.n && !o.add; ++i) c[i] = C{};
    return;
  }
#if REGIMEN_HAS_CBLAS
  if constexpr (detail::is_blas_product<A, B, C>)
    if (detail::prefers_blas(o.m, o.n, o.k)) return detail::blas_product(a, b, c, o.m, o.n, o.k, o.transpose_a, o.transpose_b, o.add);
#endif
#if REGIMEN_HAS_ONEDNN
  if constexpr (detail::is_bf16_product<A, B, C>)
    if ((onednn::has_bf16_tiles() || onednn::forced) && onednn::product(a, b, c, o.m, o.n, o.k, o.transpose_a, o.transpose_b, o.add)) return;
#endif
  packed_product(a, b, c, o.m, o.n, o.k, o.transpose_a, o.transpose_b, o.add);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
