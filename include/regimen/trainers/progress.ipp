// regimen/trainers/progress.ipp — the bodies of progress.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/trainers/progress.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace regimen::trainers {

REGIMEN_INLINE std::size_t resident_bytes() {
  const std::string pages = regimen::detail::system_text("/proc/self/statm");  // all, resident, ...
  const std::string second = pages.substr(pages.find(' ') + 1);
  std::size_t resident = 0;
  std::from_chars(second.data(), second.data() + second.size(), resident);
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

REGIMEN_INLINE void announce_engine(std::size_t rank, std::size_t ranks, const std::string& engine) {
  const std::string who = ranks > 1 ? "rank " + std::to_string(rank) + ": " : "";
  regimen::detail::say("regimen: " + who + engine + "\n");
}

REGIMEN_INLINE Progress::~Progress() {
  if (open_) clear();
}

REGIMEN_INLINE void Progress::step(std::uint64_t step, double loss, std::size_t targets, double milliseconds) {
  if (!shown_) return;
  ++done_;
  targets_ += double(targets);
  seconds_ += milliseconds * 1e-3;
  const double time = regimen::detail::now();
  const bool last = step == steps_;
  if (!last && done_ != 1 && time - drawn_ < (terminal_ ? 0.1 : 2.0)) return;
  drawn_ = time;
  draw(step, loss, last);
}

REGIMEN_INLINE void Progress::skips(const std::string& which, const char* why) {
  if (!shown_) return;
  clear();
  write("regimen: " + which + " changed no weight, as a gradient was not finite; " + why + "\n");
}

REGIMEN_INLINE void Progress::validation(std::uint64_t step, double loss, double accuracy) {
  has_accuracy_ = is_finite(accuracy);
  if (!shown_) return;
  clear();
  write("step " + std::to_string(step) + "  validation loss " + shown(loss) +
        (has_accuracy_ ? "  accuracy " + shown(accuracy) : "") + "\n");
}

REGIMEN_INLINE void Progress::metrics(const Measured& found) {
  std::string line;
  for (const MetricValue& of : found.values)
    if (!found.evaluation || !has_accuracy_ || of.name != "accuracy")  // which the validation's line has
      line += "  " + of.name + " " + shown(of.value);
  if (!shown_ || line.empty()) return;
  clear();
  write("step " + std::to_string(found.step) + (found.evaluation ? "  validation" : "  training") + line.substr(1) +
        "\n");
}

REGIMEN_INLINE void Progress::draw(std::uint64_t step, double loss, bool last) {
  const double rate = seconds_ > 0 ? targets_ / seconds_ : 0;
  const double left = steps_ != (std::numeric_limits<std::uint64_t>::max)() && step < steps_
                          ? (drawn_ - began_) / double(done_) * double(steps_ - step)
                          : 0;
  using regimen::detail::printed;
  const std::string total = steps_ == (std::numeric_limits<std::uint64_t>::max)() ? "?" : std::to_string(steps_);
  std::string rest = printed("  %.3g targets/s  %.0f s left", rate, left);
  if (const double memory = double(resident_bytes()); memory > 0)
    rest += memory < 1e9 ? printed("  %.0f MB", memory * 1e-6) : printed("  %.1f GB", memory * 1e-9);
  if (input_share_ >= 0.005) rest += printed("  %.0f %% waiting", input_share_ * 100);
  const auto line = [&](const char* gap) {
    return "step " + std::to_string(step) + "/" + total + gap + "loss " + shown(loss) + rest;
  };
  if (terminal_) {
    // The bar has the rest of the terminal's width: a wrapped line is not redrawn.
    winsize size{};
    const int columns = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    const int width = std::clamp(columns - 2 - static_cast<int>(line(" ").size()), 0, 24);
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

REGIMEN_INLINE std::string Progress::shown(double number) {
  return regimen::detail::printed(std::abs(number) < 1e9 || !is_finite(number) ? "%.4f" : "%.4e", number);
}

REGIMEN_INLINE void Progress::clear() {
  if (open_) write("\n");
  open_ = false;
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
