// regimen/saves/background_save.hpp — writes a state to its files while training continues.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/saves/safetensors.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace regimen::saves {

/// The files of a state that one rank writes: its own file and, on rank 0 of several ranks, the index of all parts.
struct StateFiles final {
  std::string path, save;  // path: of the state; save: the name of this save, empty if it is one file
  std::uint64_t time = 0;  // when the save began, on rank 0: ticks of std::chrono::system_clock since 1970
  std::string own;         // path itself, or this rank's part
  std::vector<safetensors::Tensor> tensors;
  safetensors::Metadata metadata;
  std::vector<std::string> parts;  // of all ranks; only on rank 0 of several ranks
  safetensors::Metadata index;     // likewise
  bool first = true;               // whether this is rank 0

  /// The ranks, if there are several, wait for each other after writing all bytes to the disk, before the files get
  /// their names: if one runs out of disk space, no rank leaves a part.
  [[gnu::cold]] void write_own(comm::Control* ranks) const;
  /// Called when all parts are in place. The older state stays valid until the index is in place; then its parts are
  /// removed.
  [[gnu::cold]] void finish() const;
  /// Removes the files of unfinished saves, which would fill the disk: of this save, if its index is not in place, and
  /// of older ones. A file that cannot be removed stays: an exception on its way must not be lost.
  [[gnu::cold]] void clean(bool this_one) const noexcept;
};

/// Copies the state, and writes the copy on a thread of its own.
///
/// order     a Trainer has one BackgroundSave at a time, and waits for it before the next save; two
///           runs must not save to one path
/// failure   wait() throws the errors of writing; on rank 0 also Error if another rank's part is missing after `limit`
/// memory    a copy of this rank's part of the state, until it is written
class BackgroundSave final {
 public:
  [[gnu::cold]] BackgroundSave(StateFiles files, std::chrono::seconds limit);
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;
  /// Nobody will call wait() any more, so an error is printed to standard error.
  [[gnu::cold]] ~BackgroundSave();

  /// Returns when this rank's own file is written.
  [[gnu::cold]] void wait_for_own();
  /// Returns when this rank has finished; on rank 0 the state is then in place. The first call throws the errors of
  /// writing.
  [[gnu::cold]] void wait();
  /// Other ranks will not finish: the older state stays.
  [[gnu::cold]] void give_up();

 private:
  struct Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace regimen::saves

#if !REGIMEN_COMPILED
#include <regimen/saves/background_save.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
