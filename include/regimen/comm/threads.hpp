// regimen/comm/threads.hpp — ranks are threads of one process and read each other's memory.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/comm/peer_error.hpp>
#include <regimen/comm/teams.hpp>
#include <regimen/core/compiled.hpp>
#include <regimen/core/number.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace regimen::comm {

/// The state that the ranks of one world share: std::make_shared<ThreadsWorld>(ranks, deadline). A collective of
/// threads has two phases.
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
    detail::Call call;
    const std::byte* shown = nullptr;
    std::uint64_t came = 0;
    bool here = false;   // has arrived at the collective that is not open yet
    bool ended = false;  // will not arrive again
  };

  void open(std::size_t rank);

  void fail(const std::string& cause);

  PeerError error(std::size_t rank) const { return detail::peer_error(rank, size(), seats_[rank].call, cause_); }

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

/// The communicator of one rank among threads. All ranks of a world share one
/// ThreadsWorld; regimen::launch creates both.
///
///   auto world = std::make_shared<ThreadsWorld>(4, std::chrono::seconds(300));
///   Threads ranks(world, 2);                                  // in the third thread
///
/// failure   PeerError, as comm::Collectives says: on all ranks at once when a rank leaves, ends while others wait for
///           it, or calls another collective; within the deadline when a rank does not arrive. A communicator that an
///           exception destroys leaves. Others read a rank's memory only while that rank is inside the collective
/// cost      no staging; a slice is read once by each rank that needs it; two barriers per collective
class Threads final {
 public:
  Threads(std::shared_ptr<ThreadsWorld> world, std::size_t rank);
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads();

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return world_->size(); }
  static constexpr std::size_t staging_bytes(std::size_t /*ranks*/, std::size_t /*slice_bytes*/) { return 0; }

  void all_gather(const std::byte* own, std::byte* all, std::size_t slice_bytes, Teams teams = {}) {
    gather(CollectiveKind::AllGather, own, all, slice_bytes, teams);
  }
  void all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) {
    gather(CollectiveKind::AllGatherSmall, own, all, bytes, {});
  }

  /// The bodies for all Numbers are compiled in regimen::compiled.
  template <Number T>
  void reduce_scatter(const T* all, T* own, std::size_t count, std::byte* /*staging*/, Teams teams = {});

  void barrier();

  void leave(std::string_view reason) { world_->leave(rank_, reason); }
  std::string gone() { return world_->gone(rank_); }
  Deadline deadline() const { return world_->deadline(); }

 private:
  /// All ranks wait for each other, whatever their teams: all are in the same collective.
  void gather(CollectiveKind kind, const std::byte* own, std::byte* all, std::size_t bytes, Teams teams);

  const std::shared_ptr<ThreadsWorld> world_;
  const std::size_t rank_;
  const int exceptions_;  // in flight at construction
};

static_assert(Collectives<Threads>);

}  // namespace regimen::comm

#if !REGIMEN_COMPILED
#include <regimen/comm/threads.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
