// regimen/state/background_save.hpp — a state on its way to its files, while training goes on.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/say.hpp>
#include <regimen/state/parts.hpp>
#include <regimen/state/safetensors.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace regimen::train {

/// What one rank writes of a state: its own file, and on rank 0, of several ranks, the index that names all parts.
struct StateFiles final {
  std::string path, save;  // where the state is to be found; the name of this save, empty if it is one file
  std::uint64_t time = 0;  // when it began, of rank 0
  std::string own;         // path itself, or this rank's part
  std::vector<safetensors::Tensor> tensors;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> parts;            // of all ranks; on rank 0 of several alone
  std::map<std::string, std::string> index;  // likewise
  bool first = true;                         // is this rank 0?

  /// `all_written` returns when every rank has all of its bytes on the disk; until then none has a part in place, so that ranks which find
  /// no room leave nothing behind.
  void write_own(const auto& all_written) const {
    regimen::detail::AtomicFile file(own, path);
    safetensors::detail::write_into(file, own, tensors, metadata);
    file.sync();
    all_written();
    file.commit();
  }
  /// Once all parts are there. Until the index is in place the older state holds; then its parts go.
  void finish() const {
    if (!first) return;
    for (const std::string& part : parts)
      if (!std::filesystem::exists(part))
        throw Error(path, "the part " + part, "none any more", "one run at a time may save to a path; the older state is in place");
    if (!save.empty()) safetensors::write(path, {}, index);
    SavedState::remove_parts_before(path, time);
  }
  /// What saves left behind that did not come to their end, which would fill the disk: this one, if its index is not in place, and older ones.
  void clean(bool this_one) const {
    if (!first) return;
    const auto held = SavedState::save_at(path);
    if (!held) return;
    SavedState::remove_parts_before(path, time, *held);
    if (this_one && *held != save)
      for (const std::string& part : parts) std::remove(part.c_str());
  }
};

/// Copies what is to be saved, and writes the copy on a thread of its own.
///
/// order     a Trainer has one at a time, and waits for it before it saves again; two runs must not save to one path
/// failure   of writing: thrown by wait(). On rank 0 also when the part of another rank is not there within `limit`
/// memory    a copy of what this rank saves, until it is written
class BackgroundSave final {
  using Clock = std::chrono::steady_clock;

 public:
  BackgroundSave(StateFiles files, std::chrono::seconds limit)
      : files_(std::move(files)), limit_((std::min)(limit, std::chrono::seconds(std::chrono::hours(24 * 365)))), until_(Clock::now() + limit_) {
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
  /// Nobody will ask any more, so what went wrong is said on standard error.
  ~BackgroundSave() {
    if (!writer_.joinable()) return;
    try {
      wait();
    } catch (const std::exception& error) { regimen::detail::say(std::string("regimen: the state was not saved: ") + error.what() + "\n"); }
  }

  /// Returns when this rank's own file is written.
  void wait_for_own() {
    state_.wait(writing);
    if (state_ == failed) wait();
  }
  /// Returns when this rank has no more to do; on rank 0 the state is in place then. Once.
  void wait() {
    if (!writer_.joinable()) return;
    writer_.join();
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Other ranks will not come: the older state stays.
  void give_up() { given_up_ = true; }

 private:
  enum State : int { writing, written, failed };
  void pass(State state) {
    state_ = state;
    state_.notify_all();
  }
  /// Files appear whole, under their names: each is a rename of what was written beside.
  bool wait_for_parts() const {
    for (const std::string& part : files_.parts) {
      std::error_code unknown;
      while (!std::filesystem::exists(part, unknown)) {
        if (given_up_) return false;
        if (Clock::now() >= until_)
          throw Error(files_.path, "the part " + part + " within " + std::to_string(limit_.count()) + " s", "none",
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
  std::exception_ptr failure_;  // the writer's, until it is joined
  std::atomic<bool> given_up_{false};
  std::atomic<int> state_{writing};
  std::thread writer_;
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
