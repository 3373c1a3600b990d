// regimen/state/background_save.hpp — writes a state to its files while training continues.
#pragma once

#include <regimen/core/atomic_file.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/mapped_file.hpp>  // system_words
#include <regimen/core/say.hpp>
#include <regimen/state/parts.hpp>
#include <regimen/state/safetensors.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace regimen::train {

/// The files of a state that one rank writes: its own file and, on rank 0 of several ranks, the index of all parts.
struct StateFiles final {
  std::string path, save;  // path: of the state; save: the name of this save, empty if it is one file
  std::uint64_t time = 0;  // when the save began, on rank 0
  std::string own;         // path itself, or this rank's part
  std::vector<safetensors::Tensor> tensors;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> parts;            // of all ranks; only on rank 0 of several ranks
  std::map<std::string, std::string> index;  // likewise
  bool first = true;                         // whether this is rank 0

  /// Calls `all_written` between writing all bytes to the disk and putting the file in place. If ranks wait for each
  /// other there, one that runs out of disk space leaves no part behind, of any rank.
  [[gnu::cold]] void write_own(const auto& all_written) const {
    regimen::detail::AtomicFile file(own, path);
    safetensors::detail::write_into(file, own, tensors, metadata);
    file.sync();
    all_written();
    file.commit();
  }
  /// Called when all parts are in place. The older state stays valid until the index is in place; then its parts are
  /// removed.
  [[gnu::cold]] void finish() const {
    if (!first) return;
    for (const std::string& part : parts)
      if (!regimen::detail::exists(part))
        throw Error(path, "the part " + part, "none any more",
                    "one run at a time may save to a path; the older state is in place");
    if (!save.empty()) {
      // In the background a rank's part may have its name before that name is on the disk.
      if (!parts.empty() && !regimen::detail::AtomicFile::sync_directory_of(parts.front()))
        throw Error(path, "to sync the directory of its parts", regimen::detail::system_words(errno),
                    "the older state is in place");
      safetensors::write(path, {}, index);
    }
    SavedState::remove_parts_before(path, time);
  }
  /// Removes the files of unfinished saves, which would fill the disk: of this save, if its index is not in place, and
  /// of older ones. What cannot be removed stays: often an exception is on its way, which must not be lost.
  [[gnu::cold]] void clean(bool this_one) const noexcept {
    if (!first) return;
    try {
      const auto held = SavedState::save_at(path);
      if (!held) return;
      SavedState::remove_parts_before(path, time, *held);
      if (this_one && *held != save)
        for (const std::string& part : parts) std::remove(part.c_str());
    } catch (...) {}
  }
};

/// Copies the state, and writes the copy on a thread of its own.
///
/// order     a Trainer has one BackgroundSave at a time, and waits for it before the next save; two
///           runs must not save to one path
/// failure   wait() throws the errors of writing; on rank 0 also Error if another rank's part is missing after `limit`
/// memory    a copy of this rank's part of the state, until it is written
class BackgroundSave final {
  using Clock = std::chrono::steady_clock;

 public:
  [[gnu::cold]] BackgroundSave(StateFiles files, std::chrono::seconds limit)
      : files_(std::move(files)),
        limit_((std::min)(limit, std::chrono::seconds(std::chrono::hours(24 * 365)))),
        until_(Clock::now() + limit_) {
    std::size_t bytes = 0;
    for (const safetensors::Tensor& tensor : files_.tensors) bytes += tensor.byte_count();
    copy_.resize(bytes);
    std::byte* to = copy_.data();
    for (safetensors::Tensor& tensor : files_.tensors) {
      const std::span<const std::byte> copy(to, tensor.byte_count());
      tensor.for_each_piece([&](std::span<const std::byte> piece) { to = std::copy(piece.begin(), piece.end(), to); });
      tensor.bytes = copy;
      tensor.read = nullptr;
    }
    writer_ = std::thread([this] {
      try {
        files_.write_own([] {});
        pass(written);
        if (wait_for_parts()) files_.finish();
        else files_.clean(true);
      } catch (...) {
        failure_ = std::current_exception();
        files_.clean(true);
        pass(failed);
      }
    });
  }
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;
  /// Nobody will call wait() any more, so an error is printed to standard error.
  [[gnu::cold]] ~BackgroundSave() {
    if (!writer_.joinable()) return;
    try {
      wait();
    } catch (const std::exception& error) {
      regimen::detail::say(std::string("regimen: the state was not saved: ") + error.what() + "\n");
    }
  }

  /// Returns when this rank's own file is written.
  [[gnu::cold]] void wait_for_own() {
    state_.wait(writing);
    if (state_ == failed) wait();
  }
  /// Returns when this rank has finished; on rank 0 the state is then in place. The first call throws the errors of
  /// writing.
  [[gnu::cold]] void wait() {
    if (!writer_.joinable()) return;
    writer_.join();
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Other ranks will not finish: the older state stays.
  void give_up() { given_up_ = true; }

 private:
  enum State : int { writing, written, failed };
  void pass(State state) {
    state_ = state;
    state_.notify_all();
  }
  /// Files appear complete under their names: each is renamed from a temporary in the same folder.
  [[gnu::cold]] bool wait_for_parts() const {
    for (const std::string& part : files_.parts) {
      while (!regimen::detail::exists(part)) {
        if (given_up_) return false;
        if (Clock::now() >= until_)
          throw Error(
              files_.path, "the part " + part + " within " + std::to_string(limit_.count()) + " s", "none",
              "all ranks must call save_in_background, and write to one file system; the older state is in place");
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    return !given_up_;
  }

  StateFiles files_;
  const std::chrono::seconds limit_;
  const Clock::time_point until_;
  std::vector<std::byte> copy_;
  std::exception_ptr failure_;  // of the writer, until it is joined
  std::atomic<bool> given_up_{false};
  std::atomic<int> state_{writing};
  std::thread writer_;
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
