// regimen/core/now.hpp — the time.
#pragma once

#include <time.h>

namespace regimen::detail {

/// Seconds of CLOCK_MONOTONIC: times of one process may be subtracted.
inline double now() {
  ::timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

}  // namespace regimen::detail
// SPDX-License-Identifier: Apache-2.0
