// regimen/saves/background_save.ipp — the files of a state, written.
#pragma once

#include <regimen/comm/agreement.hpp>
#include <regimen/core/atomic_file.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/mapped_file.hpp>  // system_words
#include <regimen/core/say.hpp>
#include <regimen/saves/background_save.hpp>
#include <regimen/saves/parts.hpp>
#include <regimen/saves/safetensors.ipp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <thread>
#include <utility>

namespace regimen::saves {

REGIMEN_INLINE void StateFiles::write_own(comm::Control* ranks) const {
  regimen::detail::AtomicFile file(own, path);
  safetensors::detail::write_into(file, own, tensors, metadata);
  file.sync();
  comm::barrier(ranks);
  file.commit();
}
REGIMEN_INLINE void StateFiles::finish() const {
  if (!first) return;
  for (const std::string& part : parts)
    if (!regimen::detail::exists(part))
      throw Error(path, "the part " + part, "none any more",
                  "one run at a time may save to a path; the older state is in place");
  if (!save.empty()) {
    // In the background a rank may rename its part before the new name is on the disk.
    if (!parts.empty() && !regimen::detail::AtomicFile::sync_directory_of(parts.front()))
      throw Error(path, "to sync the directory of its parts", regimen::detail::system_words(errno),
                  "the older state is in place");
    safetensors::write(path, {}, index);
  }
  SavedState::remove_parts_before(path, time);
}
REGIMEN_INLINE void StateFiles::clean(bool this_one) const noexcept {
  if (!first) return;
  try {
    const auto held = SavedState::save_at(path);
    if (!held) return;
    SavedState::remove_parts_before(path, time, *held);
    if (this_one && *held != save)
      for (const std::string& part : parts) std::remove(part.c_str());
  } catch (...) {
    // The caller may be passing on the error of a save, which says more. Files that stay are removed by the next save.
  }
}

/// The thread that writes, and what it uses: nothing of the Trainer, which trains on meanwhile.
struct BackgroundSave::Writer final {
  using Clock = std::chrono::steady_clock;

  [[gnu::cold]] Writer(StateFiles given, std::chrono::seconds given_limit)
      : files(std::move(given)),
        limit((std::min)(given_limit, std::chrono::seconds(std::chrono::hours(24 * 365)))),
        until(Clock::now() + limit) {
    std::size_t bytes = 0;
    for (const safetensors::Tensor& tensor : files.tensors) bytes += tensor.byte_count();
    copied.resize(bytes);
    std::byte* to = copied.data();
    for (safetensors::Tensor& tensor : files.tensors) {
      const std::span<const std::byte> copy(to, tensor.byte_count());
      safetensors::detail::for_each_piece(
          tensor, [&](std::span<const std::byte> piece) { to = std::copy(piece.begin(), piece.end(), to); });
      tensor.bytes = copy;
      tensor.read = nullptr;
    }
    // Not a lambda: g++ compiles the bodies of all lambdas that threads run, where a program only joins a thread.
    thread = std::thread(&Writer::write, this);
  }

  enum State : int { writing, written, failed };
  [[gnu::cold]] void write() {
    try {
      files.write_own(nullptr);
      pass(written);
      if (wait_for_parts()) files.finish();
      else files.clean(true);
    } catch (...) {
      failure = std::current_exception();
      files.clean(true);
      pass(failed);
    }
  }
  void pass(State state) {
    reached = state;
    reached.notify_all();
  }
  /// Files appear complete under their names: each is renamed from a temporary in the same folder.
  [[gnu::cold]] bool wait_for_parts() const {
    for (const std::string& part : files.parts) {
      while (!regimen::detail::exists(part)) {
        if (given_up) return false;
        if (Clock::now() >= until)
          throw Error(
              files.path, "the part " + part + " within " + std::to_string(limit.count()) + " s", "none",
              "all ranks must call save_in_background, and write to one file system; the older state is in place");
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    return !given_up;
  }

  StateFiles files;
  const std::chrono::seconds limit;
  const Clock::time_point until;
  std::vector<std::byte> copied;  // of all tensors, one behind the other, in the order of files.tensors
  std::exception_ptr failure;     // of the writer, until it is joined
  std::atomic<bool> given_up{false};
  std::atomic<int> reached{writing};  // a State: of this rank's own file
  std::thread thread;
};

REGIMEN_INLINE BackgroundSave::BackgroundSave(StateFiles files, std::chrono::seconds limit)
    : writer_(std::make_unique<Writer>(std::move(files), limit)) {}
REGIMEN_INLINE BackgroundSave::~BackgroundSave() {
  if (!writer_->thread.joinable()) return;
  try {
    wait();
  } catch (const std::exception& error) {
    regimen::detail::say(std::string("regimen: the state was not saved: ") + error.what() + "\n");
  }
}

REGIMEN_INLINE void BackgroundSave::wait_for_own() {
  writer_->reached.wait(Writer::writing);
  if (writer_->reached == Writer::failed) wait();
}
REGIMEN_INLINE void BackgroundSave::wait() {
  if (!writer_->thread.joinable()) return;
  writer_->thread.join();
  if (writer_->failure) std::rethrow_exception(writer_->failure);
}
REGIMEN_INLINE void BackgroundSave::give_up() { writer_->given_up = true; }

}  // namespace regimen::saves
// SPDX-License-Identifier: Apache-2.0
