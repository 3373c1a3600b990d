// regimen/engine/cpu/onednn.hpp — fp32 products by oneDNN, on processors where it is the fastest.
#pragma once

#if REGIMEN_HAS_ONEDNN

#include <regimen/engine/cpu/matrix_product.hpp>

#include <dnnl.h>  // the C interface: the C++ one costs more than a second per translation unit

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>

#include <signal.h>

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

/// Blocks the signals of the calling thread until the end of the scope: they are handled right after it, or by another
/// thread. Signals that the thread itself causes (SIGSEGV, SIGFPE) are handled at once, as always.
///
/// cost    two system calls, together 0.3 µs
class SignalsWait final {
 public:
  SignalsWait() { ::pthread_sigmask(SIG_BLOCK, &from_outside(), &before_); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  static const ::sigset_t& from_outside() {
    static const ::sigset_t signals = [] {
      ::sigset_t all;
      ::sigfillset(&all);
      for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) ::sigdelset(&all, own);
      return all;
    }();
    return signals;
  }

  ::sigset_t before_;
};

inline void call(const MatrixProduct<float>& o) {
  const auto size = [](std::size_t value) { return static_cast<dnnl_dim_t>(value); };
  dnnl_sgemm(o.transpose_a ? 'T' : 'N', o.transpose_b ? 'T' : 'N', size(o.m), size(o.n), size(o.k), 1.0f, o.a,
             size(o.lda), o.b, size(o.ldb), o.add ? 1.0f : 0.0f, o.c, size(o.ldc));
}

/// Of a transposed a, in copies of 256 x 512 numbers whose rows are not a multiple of 4 KiB apart: 540 KiB of stack.
inline void from_copies(const MatrixProduct<float>& o) {
  constexpr std::size_t deep = 256, high = 512, stride = high + 16;
  alignas(64) float copy[deep * stride];
  for (std::size_t i = 0; i < o.m; i += high)
    for (std::size_t p = 0; p < o.k; p += deep) {
      MatrixProduct<float> part =
          o.part(i, 0, o.m - i < high ? o.m - i : high, o.n).terms(p, o.k - p < deep ? o.k - p : deep);
      for (std::size_t q = 0; q < part.k; ++q)
        std::memcpy(copy + q * stride, part.a + q * part.lda, part.m * sizeof(float));
      part.a = copy, part.lda = stride;
      call(part);
    }
}

}  // namespace detail

/// The product by oneDNN, on the calling thread.
///
/// cost      oneDNN 2.6.3 is slow on a transposed a whose rows are a multiple of 4 KiB apart if c has few columns
///           (1024x256x2048: 220 Gflop/s, from copies 290), so such an a is copied
/// signals   blocked meanwhile: the AVX-512 kernels (seen in 2.6.3) point the stack pointer into a buffer on the heap,
///           where the frame of a signal handler would overwrite other data
inline void product(const MatrixProduct<float>& o) {
  const detail::SignalsWait handlers;
  if (o.transpose_a && o.lda % 1024 == 0 && o.n <= 512 && o.m >= 64) return detail::from_copies(o);
  detail::call(o);
}

}  // namespace regimen::cpu::onednn

#endif  // REGIMEN_HAS_ONEDNN
// SPDX-License-Identifier: Apache-2.0
