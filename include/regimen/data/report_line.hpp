// regimen/data/report_line.hpp — a line about long work on data, for people.
#pragma once

#include <regimen/core/printed.hpp>
#include <regimen/core/say.hpp>

#include <chrono>
#include <cstddef>
#include <string>

#include <unistd.h>

namespace regimen::data {

/// A Report that writes to standard error the name of the work, the amount done and the whole, the speed, and the time
/// that is left:
///
///   data::Records records("train-*.tfrec", {.report = data::ReportLine()});
///
/// Work of less than a second prints nothing. On a terminal redraws one line, at most ten times a second; elsewhere
/// writes a line at most every two seconds, and at the end. If nobody reads the output any more, stops writing; the
/// work continues.
class ReportLine final {
 public:
  void operator()(const char* what, std::size_t done, std::size_t all) {
    const Clock::time_point now = Clock::now();
    if (what_ != what) {
      end_line();
      what_ = what;
      began_ = drawn_ = now;
      shown_ = false;
    }
    const bool ends = all > 0 && done >= all;
    const double took = seconds(now - began_), pause = shown_ && terminal_ ? 0.1 : shown_ ? 2 : 1;
    if (took < 1 || (!(ends && shown_) && seconds(now - drawn_) < pause)) return;
    drawn_ = now;
    shown_ = true;
    const double rate = double(done) / took;
    using regimen::detail::printed;
    std::string text = printed("%.60s: %zu", what, done) + (all > 0 ? " of " + std::to_string(all) : std::string()) +
                       printed("  %.3g/s", rate);
    if (done < all && rate > 0) text += printed("  %.0f s left", double(all - done) / rate);
    say(terminal_ ? "\r" + text + "\033[K" : text + "\n");
    open_ = terminal_;
    if (ends) end_line();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }
  void end_line() {
    if (open_) say("\n");
    open_ = false;
  }
  void say(const std::string& text) { heard_ = heard_ && regimen::detail::say(text); }

  std::string what_;
  Clock::time_point began_{}, drawn_{};
  bool terminal_ = ::isatty(STDERR_FILENO) == 1, shown_ = false, open_ = false, heard_ = true;
};

}  // namespace regimen::data
// SPDX-License-Identifier: Apache-2.0
