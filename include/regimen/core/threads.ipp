// regimen/core/threads.ipp — the bodies of threads.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/threads.hpp>

#include <sched.h>

#include <climits>
#include <cstdlib>
#include <thread>

namespace regimen {

REGIMEN_INLINE int processor_count() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0) return CPU_COUNT(&allowed);
#endif
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

}  // namespace regimen

namespace regimen::detail {

REGIMEN_INLINE int number_above_zero(const char* text) {
  const long number = text == nullptr ? 0 : std::strtol(text, nullptr, 10);  // "4,2": the first of a list
  return number > 0 && number <= INT_MAX ? static_cast<int>(number) : 0;
}

REGIMEN_INLINE int threads_of_environment(std::size_t ranks) {
  return threads_from([](const char* name) { return std::getenv(name); }, ranks, processor_count());
}

}  // namespace regimen::detail

namespace regimen {

REGIMEN_INLINE void share_processors(std::size_t ranks) {
  detail::threads_here = 0;
  detail::share_here = detail::threads_of_environment(ranks);
}

REGIMEN_INLINE int thread_count() {
  if (detail::threads_here > 0) return detail::threads_here;
  if (detail::share_here > 0) return detail::share_here;
  static const int count = detail::threads_of_environment(0);
  return count;
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
