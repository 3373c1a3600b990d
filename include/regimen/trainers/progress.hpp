// regimen/trainers/progress.hpp — the progress of a long run: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <regimen/core/file.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/core/now.hpp>
#include <regimen/core/printed.hpp>
#include <regimen/core/say.hpp>
#include <regimen/trainers/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <unistd.h>

namespace regimen::trainers {

/// Resident bytes of this process; 0 if unknown.
[[gnu::cold]] std::size_t resident_bytes();
[[gnu::cold]] std::size_t grown_beside(std::size_t arena, std::size_t before);

[[gnu::cold]] void announce_debug();

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
  [[gnu::cold]] static int columns();
  /// A loss that diverges has up to 309 digits before its point: then digits are counted from the first.
  [[gnu::cold]] static std::string shown(double number);
  [[gnu::cold]] std::string total() const;
  [[gnu::cold]] void clear();
  [[gnu::cold]] void write(const std::string& text) { shown_ = shown_ && regimen::detail::say(text); }

  bool shown_, terminal_, open_ = false, has_accuracy_ = false;
  std::uint64_t steps_, done_ = 0;
  double began_, drawn_ = 0, targets_ = 0, seconds_ = 0, input_share_ = 0;
};

}  // namespace regimen::trainers

#if !REGIMEN_COMPILED
#include <regimen/trainers/progress.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
