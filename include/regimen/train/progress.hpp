// regimen/train/progress.hpp — the progress of a long run: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <regimen/core/file.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/say.hpp>
#include <regimen/train/result.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

namespace regimen::train {

/// Seconds of a monotonic clock.
inline double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// Resident bytes of this process; 0 if unknown.
[[gnu::cold]] inline std::size_t resident_bytes() {
  const std::string pages = regimen::detail::system_text("/proc/self/statm");  // all, resident, ...
  const std::string second = pages.substr(pages.find(' ') + 1);
  std::size_t resident = 0;
  std::from_chars(second.data(), second.data() + second.size(), resident);
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}
[[gnu::cold]] inline std::size_t grown_beside(std::size_t arena, std::size_t before) {
  const std::size_t grown = resident_bytes();
  return grown > before + arena ? grown - before - arena : 0;
}

[[gnu::cold]] inline void announce_debug() {
  regimen::detail::say("regimen: Debug<...> is on: this run is checked, and slower; do not time it\n");
}

[[gnu::cold]] inline void announce_engine(std::size_t rank, std::size_t ranks, const std::string& engine) {
  const std::string who = ranks > 1 ? "rank " + std::to_string(rank) + ": " : "";
  regimen::detail::say("regimen: " + who + engine + "\n");
}

/// Writes to standard error. On a terminal redraws one line, at most ten times a second; elsewhere writes a line at the
/// first step, at the last, and at most every two seconds: the loss, targets a second, the time that is left, the memory of
/// this process where the system says it (a GPU's is in the plan), the share of waiting for data. If nobody reads the
/// output any more, stops writing; the run continues.
class Progress {
 public:
  Progress(bool shown, std::uint64_t steps)
      : shown_(shown), terminal_(isatty(STDERR_FILENO) == 1), steps_(steps), began_(now()) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (open_) clear();
  }

  void step(std::uint64_t step, double loss, std::size_t targets, double milliseconds) {
    if (!shown_) return;
    ++done_;
    targets_ += double(targets);
    seconds_ += milliseconds * 1e-3;
    const double time = now();
    const bool last = step == steps_;
    if (!last && done_ != 1 && time - drawn_ < (terminal_ ? 0.1 : 2.0)) return;
    drawn_ = time;
    draw(step, loss, last);
  }

  /// How long steps have waited for data so far, of all their time.
  void input(double share) { input_share_ = share; }

  /// Says that steps change no weight, so far or in all.
  [[gnu::cold]] void skips(const std::string& which, const char* why) {
    if (!shown_) return;
    clear();
    write("regimen: " + which + " changed no weight, as a gradient was not finite; " + why + "\n");
  }

  void validation(std::uint64_t step, double loss, double accuracy) {
    has_accuracy_ = is_finite(accuracy);
    if (shown_) draw_validation(step, loss, accuracy);
  }
  void metrics(const Measured& found) {
    if (shown_) draw_metrics(found);
  }

 private:
  [[gnu::cold]] void draw(std::uint64_t step, double loss, bool last) {
    const double rate = seconds_ > 0 ? targets_ / seconds_ : 0;
    const double left = steps_ != (std::numeric_limits<std::uint64_t>::max)() && step < steps_
                            ? (drawn_ - began_) / double(done_) * double(steps_ - step)
                            : 0;
    using regimen::detail::printed;
    std::string rest = printed("  %.3g targets/s  %.0f s left", rate, left);
    if (const double memory = double(resident_bytes()); memory > 0)
      rest += memory < 1e9 ? printed("  %.0f MB", memory * 1e-6) : printed("  %.1f GB", memory * 1e-9);
    if (input_share_ >= 0.005) rest += printed("  %.0f %% waiting", input_share_ * 100);
    const auto line = [&](const char* gap) {
      return "step " + std::to_string(step) + "/" + total() + gap + "loss " + shown(loss) + rest;
    };
    if (terminal_) {
      // The bar has what the line leaves of the terminal: what is wrapped is not redrawn.
      const int width = std::clamp(columns() - 2 - static_cast<int>(line(" ").size()), 0, 24);
      const int filled = steps_ > 0 ? static_cast<int>(double(width) * double(step) / double(steps_)) : 0;
      std::string bar;
      for (int i = 0; i < width; ++i) bar += i < filled ? "█" : "░";
      write("\r\033[K" + bar + " " + line(" "));
      open_ = true;
      if (last) clear();
    } else {
      write(line("  ") + "\n");
    }
  }
  [[gnu::cold]] void draw_validation(std::uint64_t step, double loss, double accuracy) {
    clear();
    write("step " + std::to_string(step) + "  validation loss " + shown(loss) +
          (is_finite(accuracy) ? "  accuracy " + shown(accuracy) : "") + "\n");
  }
  [[gnu::cold]] void draw_metrics(const Measured& found) {
    std::string line;
    for (const MetricValue& of : found.values)
      if (!found.evaluation || !has_accuracy_ || of.name != "accuracy")  // which the validation's line has
        line += "  " + of.name + " " + shown(of.value);
    if (line.empty()) return;
    clear();
    write("step " + std::to_string(found.step) + (found.evaluation ? "  validation" : "  training") + line.substr(1) +
          "\n");
  }
  [[gnu::cold]] static int columns() {
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }
  /// A loss that diverges has up to 309 digits before its point: then digits are counted from the first.
  [[gnu::cold]] static std::string shown(double number) {
    return regimen::detail::printed(std::abs(number) < 1e9 || !is_finite(number) ? "%.4f" : "%.4e", number);
  }
  [[gnu::cold]] std::string total() const {
    return steps_ == (std::numeric_limits<std::uint64_t>::max)() ? "?" : std::to_string(steps_);
  }
  [[gnu::cold]] void clear() {
    if (open_) write("\n");
    open_ = false;
  }
  [[gnu::cold]] void write(const std::string& text) { shown_ = shown_ && regimen::detail::say(text); }

  bool shown_, terminal_, open_ = false, has_accuracy_ = false;
  std::uint64_t steps_, done_ = 0;
  double began_, drawn_ = 0, targets_ = 0, seconds_ = 0, input_share_ = 0;
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
