// regimen/engine/cpu/machine.hpp — how many threads, and which path products take on this processor.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/threads.hpp>
#include <regimen/engine/cpu/product.hpp>
#include <regimen/engine/cpu/simd.hpp>

#include <cstdio>
#include <string>

namespace regimen::cpu {

using regimen::set_threads;
using regimen::threads;

/// How many threads an object of the library computes with, whatever thread calls it: the requested number, or, for 0,
/// threads() of the thread that constructed the object.
inline int threads_for(int asked) {
  if (asked < 0)
    throw Error("options.threads", "0 (as OMP_NUM_THREADS or the processors say) or more", std::to_string(asked));
  return asked > 0 ? asked : threads();
}

/// Sets the number of threads until the end of the scope.
class ThreadScope final {
 public:
  explicit ThreadScope(int count) : before_(regimen::detail::threads_here) { set_threads(count); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;
  ~ThreadScope() { set_threads(before_); }

 private:
  int before_;
};

/// What decides the bits of a run, besides the program: the path of products, the width of registers, whether there are
/// fused multiply-adds. The number of threads does not.
template <class Compute>
std::string path_text() {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  constexpr const char* fused = ", fused multiply-add";
#else
  constexpr const char* fused = "";
#endif
#if defined(__FAST_MATH__)
  constexpr const char* fast = ", -ffast-math";
#else
  constexpr const char* fast = "";
#endif
  char text[512];  // not a sum of strings: g++ 12 warns about the insides of those
  std::snprintf(text, sizeof text, "products: %s; registers: %zu bytes%s%s",
                product_path<Compute, Compute, Compute>().c_str(), vector_bytes, fused, fast);
  return text;
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
