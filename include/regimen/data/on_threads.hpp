// regimen/data/on_threads.hpp — work by several threads, item by item.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace regimen::data::detail {

/// Calls body(thread, i) for all i below `count`, on at most `threads` threads, this one among them. After a failure no
/// further i begins; when all threads have ended, throws the exception of the lowest i that threw.
[[gnu::noinline]] inline void on_threads(std::size_t count, std::size_t threads,
                                         const std::function<void(std::size_t, std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;  // guarded, as the following
  std::size_t failed = count;
  const auto work = [&](std::size_t thread) {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(thread, i);
      } catch (...) {  // they begin in order, so that somebody finishes all that are lower
        const std::lock_guard lock(mutex);
        if (i < failed) {
          failure = std::current_exception();
          failed = i;
        }
        next = count;
      }
    }
  };
  threads = (std::min)(threads, count);
  std::vector<std::thread> others;
  others.reserve(threads);
  try {
    for (std::size_t thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  } catch (const std::exception&) {  // those that began, and this one, do it
  }
  work(0);
  for (std::thread& one : others) one.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace regimen::data::detail
// SPDX-License-Identifier: Apache-2.0
