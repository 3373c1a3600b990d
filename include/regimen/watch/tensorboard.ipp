// regimen/watch/tensorboard.ipp — a file of events for TensorBoard, begun.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/watch/tensorboard.hpp>
#include <regimen/watch/text.hpp>

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <utility>

namespace regimen {

REGIMEN_INLINE TensorBoard::TensorBoard(std::string folder, TensorBoardOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  if (options_.every == 0) throw Error("TensorBoard, every", "at least 1 step", "0");
}
REGIMEN_INLINE double TensorBoard::time() const {
  if (options_.clock) return options_.clock();
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
REGIMEN_INLINE void TensorBoard::open(std::uint64_t steps, const std::string& run) {
  static std::atomic<unsigned> files{0};  // of this process
  detail::make_folder(folder_);
  const double now = time();
  if (options_.file.empty()) {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '-';
    options_.file = "events.out.tfevents." + std::to_string(static_cast<std::uint64_t>(now)) + "." + host.data() + "." +
                    std::to_string(::getpid()) + "." + std::to_string(files++);
  }
  file_ = std::make_unique<EventFile>(folder_ + "/" + options_.file, now);
  std::string indented;  // Markdown's way to leave text alone
  for (const char letter : "    " + run) indented += letter == '\n' ? "\n    " : std::string(1, letter);
  file_->write(now, steps, EventFile::text("run", indented));
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
