// regimen/comm/detail/threads_world.hpp — the shared state of ranks that are threads.
#pragma once

#include <regimen/comm/peer_error.hpp>

#include <chrono>
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
  ThreadsWorld(std::size_t ranks, Deadline deadline) : deadline_(checked(deadline)), seats_(ranks) {}

  std::size_t size() const { return seats_.size(); }
  Deadline deadline() const { return deadline_; }

  /// The pointers that rank r published; valid between arrive and the last barrier of a collective.
  const std::byte* shown(std::size_t r) const { return seats_[r].shown; }

  void arrive(std::size_t rank, CollectiveKind kind, std::size_t bytes, std::size_t about, const std::byte* memory) {
    std::unique_lock lock(mutex_);
    Seat& seat = seats_[rank];
    seat.call = {seat.came, bytes, static_cast<std::uint32_t>(about), kind};
    if (!cause_.empty()) throw error(rank);
    ++seat.came;
    seat.shown = memory;
    seat.here = true;
    if (++here_ == size()) return open(rank);
    if (const std::string missing = who([](const Seat& s) { return s.ended && !s.here; }); !missing.empty()) {
      fail(missing + " ended without it");
      throw error(rank);
    }
    const std::uint64_t opened = opened_;
    changed_.wait_until(lock, end_of(deadline_), [&] { return opened_ != opened || !cause_.empty(); });
    if (opened_ != opened) return;  // first: the others may already be reading
    if (cause_.empty())
      fail("no sign of " + who([](const Seat& s) { return !s.here; }) + " within " + words(deadline_));
    throw error(rank);
  }

  /// Waits until all ranks have called it equally often.
  void barrier() {
    std::unique_lock lock(mutex_);
    if (++waiting_ == size()) {
      waiting_ = 0;
      ++barriers_;
      changed_.notify_all();
    } else {
      const std::uint64_t barrier = barriers_;
      changed_.wait(lock, [&] { return barriers_ != barrier; });
    }
  }

  /// Rank `rank` leaves. All ranks report the first reason.
  void leave(std::size_t rank, std::string_view reason) {
    const std::lock_guard lock(mutex_);
    fail(rank_failed(rank, reason));
  }

  /// For rank `rank`: who has ended. Throws if a rank has left.
  std::string gone(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    if (!cause_.empty()) throw error(rank);
    return who([](const Seat& s) { return s.ended; });
  }

  /// Rank `rank` has ended normally: an error only if another rank still waits for it.
  void end(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    seats_[rank].ended = true;
    if (here_ > 0 && !seats_[rank].here)
      fail(who([](const Seat& s) { return s.ended && !s.here; }) + " ended without it");
  }

 private:
  struct Seat {
    Call call;
    const std::byte* shown = nullptr;
    std::uint64_t came = 0;
    bool here = false;   // has arrived at the collective that is not open yet
    bool ended = false;  // will not arrive again
  };

  void open(std::size_t rank) {
    for (std::size_t r = 1; r < size(); ++r) {
      if (seats_[r].call == seats_[0].call) continue;
      fail("rank 0 in " + words(seats_[0].call) + " and rank " + std::to_string(r) + " in " + words(seats_[r].call));
      throw error(rank);
    }
    for (Seat& seat : seats_) seat.here = false;
    here_ = 0;
    ++opened_;
    changed_.notify_all();
  }

  void fail(const std::string& cause) {
    if (cause_.empty()) cause_ = cause;
    changed_.notify_all();
  }

  PeerError error(std::size_t rank) const { return peer_error(rank, size(), seats_[rank].call, cause_); }

  template <class Is>
  std::string who(const Is& is) const {
    bool any = false;
    for (const Seat& seat : seats_) any = any || is(seat);
    return any ? ranks_where(size(), [&](std::size_t r) { return is(seats_[r]); }) : std::string();
  }

  const Deadline deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seat> seats_;
  std::size_t here_ = 0, waiting_ = 0;
  std::uint64_t opened_ = 0, barriers_ = 0;
  std::string cause_;  // why the world has failed; empty while it works
};

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
