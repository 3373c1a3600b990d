// bench/clock.hpp — seconds, of this process on a processor or of the clock on the wall.
#pragma once

#include <ctime>

namespace bench {

/// Seconds on a processor count all threads, and other programs on the machine matter little to them.
class Clock final {
 public:
  explicit Clock(bool of_processor) : id_(of_processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC) {}
  double seconds() const {
    std::timespec time{};
    ::clock_gettime(id_, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  }

 private:
  ::clockid_t id_;
};

}  // namespace bench
// SPDX-License-Identifier: Apache-2.0
