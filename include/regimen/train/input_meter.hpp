// regimen/train/input_meter.hpp — the share of time that training waits for data, and the stage that takes longest.
#pragma once

#include <regimen/core/printed.hpp>
#include <regimen/core/say.hpp>
#include <regimen/data/source.hpp>
#include <regimen/data/timing.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace regimen::train {

/// Adds up how long steps took, and how long of that the loop waited for its next batch. On a device that works late the
/// host may wait while the device still computes: there the share is an upper bound.
class InputMeter final {
 public:
  /// `before` are the timings of the source when the run began; `automatic`: fit adds workers itself.
  InputMeter(bool speaks, std::vector<data::Timing> before, bool automatic = false)
      : speaks_(speaks), automatic_(automatic), before_(std::move(before)) {}

  void step(double milliseconds, double waited) {
    milliseconds_ += milliseconds;
    waited_ += waited;
  }
  /// Of all steps; 0 before the first.
  double share() const { return milliseconds_ > 0 ? (waited_ < milliseconds_ ? waited_ / milliseconds_ : 1) : 0; }

  /// Says once that more than a tenth of the time goes into waiting, if it has been so for two seconds.
  template <class Source>
  void say_if_bound(const Source& source) {
    if (!speaks_ || milliseconds_ < 2000 || share() <= 0.1) return;
    speaks_ = false;
    regimen::detail::say(
        words(share(), regimen::detail::name_of_source(source), data::timings(source), before_, automatic_));
  }

  /// What it says.   name   of the source
  [[gnu::noinline]] static std::string words(double share, const std::string& name,
                                             const std::vector<data::Timing>& now,
                                             const std::vector<data::Timing>& before, bool automatic = false) {
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

 private:
  bool speaks_, automatic_;
  std::vector<data::Timing> before_;
  double milliseconds_ = 0, waited_ = 0;
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
