// regimen/engine/cpu/onednn.hpp — fp32 products by oneDNN, on processors where it is the fastest.
#pragma once

#if REGIMEN_HAS_ONEDNN

#include <regimen/engine/cpu/signals_wait.hpp>

#include <dnnl.h>  // the C interface: the C++ one costs more than a second per translation unit

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

namespace regimen::cpu::onednn {

/// Intel's processors with AVX-512, measured on one with AMX: 5 to 25 % faster than OpenBLAS 0.3.21 in every shape but
/// one. On AMD's (AVX2), weight gradients take twice OpenBLAS's time where rows are a multiple of 4 KiB apart.
inline bool is_fastest() {
#if defined(__x86_64__)
  static const bool is = __builtin_cpu_is("intel") && (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) &
                                                       dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  return is;
#else
  return false;
#endif
}

inline std::string name() {
  const dnnl_version_t& version = *dnnl_version();
  char text[64];
  std::snprintf(text, sizeof text, "oneDNN %d.%d.%d", version.major, version.minor, version.patch);
  return text;
}

namespace detail {

inline void call(const float* a, const float* b, float* c, std::size_t m, std::size_t n, std::size_t k, std::size_t lda,
                 std::size_t ldb, std::size_t ldc, bool transpose_a, bool transpose_b, bool add) {
  const auto size = [](std::size_t value) { return static_cast<dnnl_dim_t>(value); };
  dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', size(m), size(n), size(k), 1.0f, a, size(lda), b,
             size(ldb), add ? 1.0f : 0.0f, c, size(ldc));
}

/// Of a transposed a, in copies of 256 x 512 numbers whose rows are not a multiple of 4 KiB apart: 540 KiB of stack.
inline void from_copies(const float* a, const float* b, float* c, std::size_t m, std::size_t n, std::size_t k,
                        std::size_t lda, std::size_t ldb, std::size_t ldc, bool transpose_b, bool add) {
  constexpr std::size_t deep = 256, high = 512, stride = high + 16;
  alignas(64) float copy[deep * stride];
  for (std::size_t i = 0; i < m; i += high)
    for (std::size_t p = 0; p < k; p += deep) {
      const std::size_t rows = m - i < high ? m - i : high, depth = k - p < deep ? k - p : deep;
      for (std::size_t q = 0; q < depth; ++q)
        std::memcpy(copy + q * stride, a + (p + q) * lda + i, rows * sizeof(float));
      call(copy, b + (transpose_b ? p : p * ldb), c + i * ldc, rows, n, depth, stride, ldb, ldc, true, transpose_b,
           add || p > 0);
    }
}

}  // namespace detail

/// c = op(a) · op(b), or c +=, row-major, with rows lda, ldb and ldc numbers apart.
///
/// cost      oneDNN 2.6.3 is slow on a transposed a whose rows are a multiple of 4 KiB apart if c has few columns
///           (1024x256x2048: 220 Gflop/s, from copies 290), so such an a is copied
/// signals   blocked meanwhile: the AVX-512 kernels (seen in 2.6.3) point the stack pointer into a buffer on the heap,
///           where the frame of a signal handler would overwrite other data
inline void product(const float* a, const float* b, float* c, std::size_t m, std::size_t n, std::size_t k,
                    std::size_t lda, std::size_t ldb, std::size_t ldc, bool transpose_a, bool transpose_b, bool add) {
  const SignalsWait handlers;
  if (transpose_a && lda % 1024 == 0 && n <= 512 && m >= 64)
    return detail::from_copies(a, b, c, m, n, k, lda, ldb, ldc, transpose_b, add);
  detail::call(a, b, c, m, n, k, lda, ldb, ldc, transpose_a, transpose_b, add);
}

}  // namespace regimen::cpu::onednn

#endif  // REGIMEN_HAS_ONEDNN
// SPDX-License-Identifier: Apache-2.0
