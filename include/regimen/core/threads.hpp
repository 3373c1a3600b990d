// regimen/core/threads.hpp — how many threads the calling thread computes with.
#pragma once

#include <climits>
#include <cstdlib>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace regimen {

/// Processors that this process may run on, at least one.
inline int processors() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0) return CPU_COUNT(&allowed);
#endif
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

namespace detail {

/// OMP_NUM_THREADS, as in other libraries of the field; without it, one thread for each processor.
inline int threads_of_environment() {
  static const int count = [] {
    const char* const text = std::getenv("OMP_NUM_THREADS");
    const long asked = text == nullptr ? 0 : std::strtol(text, nullptr, 10);  // "4,2": the first of a list
    return asked > 0 && asked <= INT_MAX ? static_cast<int>(asked) : processors();
  }();
  return count;
}

inline thread_local int threads_here = 0;

}  // namespace detail

/// Sets the threads of loops and products that the calling thread starts from now on; 0: as the environment says.
inline void set_threads(int count) {
  if (count > 0) detail::threads_here = count;
}

inline int threads() { return detail::threads_here > 0 ? detail::threads_here : detail::threads_of_environment(); }

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
