// regimen/comm/detail/threads_world.hpp — the shared state of ranks that are threads.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/comm/peer_error.hpp>
#include <regimen/core/compiled.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace regimen::comm::detail {

/// A collective of threads has two phases.
///
///   arrive   each rank publishes its pointers and waits, with the deadline, until all ranks have arrived. A rank that
///            gives up marks this under the lock, before all have arrived: then no rank
///            passes, and none reads its memory.
///   barrier  all ranks have arrived. Now ranks read each other's memory; only copies and sums run, which always end.
///            So there is no deadline here, and no rank can leave while its memory is read.
class ThreadsWorld final {
 public:
  ThreadsWorld(std::size_t ranks, Deadline deadline);

  std::size_t size() const { return seats_.size(); }
  Deadline deadline() const { return deadline_; }

  /// The pointers that rank r published; valid between arrive and the last barrier of a collective.
  const std::byte* shown(std::size_t r) const { return seats_[r].shown; }

  void arrive(std::size_t rank, CollectiveKind kind, std::size_t bytes, std::size_t about, const std::byte* memory);

  /// Waits until all ranks have called it equally often.
  void barrier();

  /// Rank `rank` leaves. All ranks report the first reason.
  void leave(std::size_t rank, std::string_view reason);

  /// For rank `rank`: who has ended. Throws if a rank has left.
  std::string gone(std::size_t rank);

  /// Rank `rank` has ended normally: an error only if another rank still waits for it.
  void end(std::size_t rank);

 private:
  struct Seat {
    Call call;
    const std::byte* shown = nullptr;
    std::uint64_t came = 0;
    bool here = false;   // has arrived at the collective that is not open yet
    bool ended = false;  // will not arrive again
  };

  void open(std::size_t rank);

  void fail(const std::string& cause);

  PeerError error(std::size_t rank) const;

  /// The ranks for whose seats `is` holds; empty if there are none.
  std::string who(bool (*is)(const Seat&)) const;

  const Deadline deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seat> seats_;
  std::size_t here_ = 0, waiting_ = 0;
  std::uint64_t opened_ = 0, barriers_ = 0;
  std::string cause_;  // why the world has failed; empty while it works
};

}  // namespace regimen::comm::detail

#if !REGIMEN_COMPILED
#include <regimen/comm/detail/threads_world.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
