// regimen/trainers/progress.hpp — the progress of a long run: a bar on a terminal, plain lines elsewhere; the share of
// time that training waits for data, and the stage that takes longest.
#pragma once

#include <regimen/core/file.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/now.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/say.hpp>
#include <regimen/data/source.hpp>
#include <regimen/data/timing.hpp>
#include <regimen/trainers/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace regimen::trainers {

/// Resident bytes of this process; 0 if unknown.
[[gnu::cold]] std::size_t resident_bytes();
[[gnu::cold]] void announce_engine(std::size_t rank, std::size_t ranks, const std::string& engine);

/// Writes to standard error. On a terminal redraws one line, at most ten times a second; elsewhere writes a line at the
/// first step, at the last, and at most every two seconds: the loss, targets a second, the time left, the memory of
/// this process if the system reports it (a GPU's is in the plan), the share of waiting for data. If nobody reads the
/// output any more, stops writing; the run continues.
class Progress {
 public:
  Progress(bool shown, std::uint64_t steps)
      : shown_(shown), terminal_(isatty(STDERR_FILENO) == 1), steps_(steps), began_(regimen::detail::now()) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void step(std::uint64_t step, double loss, std::size_t targets, double milliseconds);

  /// How long steps have waited for data so far, of all their time.
  void input(double share) { input_share_ = share; }

  /// Says that steps change no weight, so far or in all.
  [[gnu::cold]] void skips(const std::string& which, const char* why);

  void validation(std::uint64_t step, double loss, double accuracy);
  void metrics(const Measured& found);

 private:
  [[gnu::cold]] void draw(std::uint64_t step, double loss, bool last);
  /// A loss that diverges has up to 309 digits before its point: then digits are counted from the first.
  [[gnu::cold]] static std::string shown(double number);
  [[gnu::cold]] void clear();
  [[gnu::cold]] void write(const std::string& text) { shown_ = shown_ && regimen::detail::say(text); }

  bool shown_, terminal_, open_ = false, has_accuracy_ = false;
  std::uint64_t steps_, done_ = 0;
  double began_, drawn_ = 0, targets_ = 0, seconds_ = 0, input_share_ = 0;
};

/// Adds up how long steps took, and for how much of this time the loop waited for its next batch. On a device that runs
/// asynchronously the host may wait while the device still computes: there the share is an upper bound.
class InputMeter final {
 public:
  /// `before` are the timings of the source when the run began; `automatic`: fit adds workers itself.
  InputMeter(bool speaks, std::vector<data::Timing> before, bool automatic = false)
      : speaks_(speaks), automatic_(automatic), before_(std::move(before)) {}

  void step(double milliseconds, double waited) {
    milliseconds_ += milliseconds;
    waited_ += waited;
  }
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
#include <regimen/trainers/progress.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
