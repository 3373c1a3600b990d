// regimen/engine/cpu/onednn.hpp — fp32 products by oneDNN, on processors where it is the fastest.
#pragma once

#if REGIMEN_HAS_ONEDNN

#include <regimen/engine/cpu/signals_wait.hpp>

#include <dnnl.h>  // the C interface: the C++ one costs more than a second per translation unit

#include <cstddef>
#include <cstdio>
#include <string>

namespace regimen::cpu::onednn {

/// Intel's processors with AVX-512, measured on one with AMX: 5 to 25 % faster than OpenBLAS 0.3.21 in every shape but
/// one. On AMD's (AVX2), weight gradients take twice OpenBLAS's time where rows are a multiple of 4 KiB apart.
inline bool is_fastest() {
#if defined(__x86_64__)
  static const bool is =
      __builtin_cpu_is("intel") && (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
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

/// c = op(a) · op(b), or c +=, row-major, with rows lda, ldb and ldc numbers apart.
///
/// signals   blocked meanwhile: the AVX-512 kernels (seen in 2.6.3) point the stack pointer into a buffer on the heap,
///           where the frame of a signal handler would overwrite other data
inline void product(const float* a, const float* b, float* c, std::size_t m, std::size_t n, std::size_t k, std::size_t lda, std::size_t ldb,
                    std::size_t ldc, bool transpose_a, bool transpose_b, bool add) {
  const auto size = [](std::size_t value) { return static_cast<dnnl_dim_t>(value); };
  const SignalsWait handlers;
  dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', size(m), size(n), size(k), 1.0f, a, size(lda), b, size(ldb), add ? 1.0f : 0.0f, c,
             size(ldc));
}

}  // namespace regimen::cpu::onednn

#endif  // REGIMEN_HAS_ONEDNN
// SPDX-License-Identifier: Apache-2.0
