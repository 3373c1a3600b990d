// regimen/trainers/input_meter.ipp — the bodies of input_meter.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/trainers/input_meter.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace regimen::trainers {

REGIMEN_INLINE void InputMeter::step(double milliseconds, double waited) {
  milliseconds_ += milliseconds;
  waited_ += waited;
}

REGIMEN_INLINE std::string InputMeter::words(double share, const std::string& name,
                                             const std::vector<data::Timing>& now,
                                             const std::vector<data::Timing>& before, bool automatic) {
  std::string all = regimen::detail::printed("regimen: training waits %.0f %% of its time for data", share * 100);
  std::size_t slowest = now.size();
  double longest = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double seconds = now[i].seconds - (i < before.size() ? before[i].seconds : 0);
    if (seconds > longest) {
      longest = seconds;
      slowest = i;
    }
  }
  if (slowest < now.size()) {
    const auto values = now[slowest].values - (slowest < before.size() ? before[slowest].values : 0);
    all += " (" + name + "); the slowest stage is " + now[slowest].stage +
           regimen::detail::printed(", %.3g us a value", longest / double(values > 0 ? values : 1) * 1e6);
  } else {
    all += ", from " + name;
  }
  return all + (automatic ? "; workers are added while processors are left: give it less work to do there\n"
                          : "; give fit {.workers = data::automatic}, or less work to do there\n");
}

}  // namespace regimen::trainers
// SPDX-License-Identifier: Apache-2.0
