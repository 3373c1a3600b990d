// regimen/trainers/input_meter.hpp — the share of time that training waits for data, and the stage that takes longest.
#pragma once

#include <regimen/core/printed.hpp>
#include <regimen/core/say.hpp>
#include <regimen/data/dataset.hpp>
#include <regimen/data/source.hpp>

#include <string>
#include <utility>
#include <vector>

namespace regimen::trainers {

/// Adds up how long steps took, and for how much of this time the loop waited for its next batch. On a device that runs
/// asynchronously the host may wait while the device still computes: there the share is an upper bound.
class InputMeter final {
 public:
  /// `before` are the timings of the source when the run began; `automatic`: fit adds workers itself.
  InputMeter(bool speaks, std::vector<data::Timing> before, bool automatic = false)
      : speaks_(speaks), automatic_(automatic), before_(std::move(before)) {}

  void step(double milliseconds, double waited);
  /// The share of waiting in all steps; 0 before the first.
  double share() const { return milliseconds_ > 0 ? (waited_ < milliseconds_ ? waited_ / milliseconds_ : 1) : 0; }

  /// Prints once that waiting takes more than a tenth of the time, if it has done so for two seconds.
  template <class Source>
  void say_if_bound(const Source& source) {
    if (!speaks_ || milliseconds_ < 2000 || share() <= 0.1) return;
    speaks_ = false;
    regimen::detail::say(
        words(share(), regimen::detail::name_of_source(source), data::timings(source), before_, automatic_));
  }

  /// The line that it prints.   name   of the source
  static std::string words(double share, const std::string& name, const std::vector<data::Timing>& now,
                           const std::vector<data::Timing>& before, bool automatic = false);

 private:
  bool speaks_, automatic_;
  std::vector<data::Timing> before_;
  double milliseconds_ = 0, waited_ = 0;
};

}  // namespace regimen::trainers

#if !REGIMEN_COMPILED
#include <regimen/trainers/input_meter.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
