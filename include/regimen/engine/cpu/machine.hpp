// regimen/engine/cpu/machine.hpp — how many threads.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/threads.hpp>

#include <string>

namespace regimen::cpu {

/// How many threads an object of the library computes with, whatever thread calls it: the requested number, or, for 0,
/// thread_count() of the thread that constructed the object.
inline int threads_for(int asked) {
  if (asked < 0)
    throw Error("options.threads", "0 (as OMP_NUM_THREADS or the processors say) or more", std::to_string(asked));
  return asked > 0 ? asked : thread_count();
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

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
