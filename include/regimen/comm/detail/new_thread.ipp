// regimen/comm/detail/new_thread.ipp — the bodies of new_thread.hpp.
#pragma once

#include <regimen/comm/detail/new_thread.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/threads.hpp>

#include <cstddef>
#include <functional>
#include <thread>

namespace regimen::comm::detail {

REGIMEN_INLINE void run_on_new_thread(std::size_t ranks, const std::function<void()>& body) {
  std::thread([&] {
    share_processors(ranks);
    body();
  }).join();
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
