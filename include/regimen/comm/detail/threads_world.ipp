// regimen/comm/detail/threads_world.ipp — the bodies of threads_world.hpp.
#pragma once

#include <regimen/comm/detail/threads_world.hpp>
#include <regimen/comm/peer_error.hpp>
#include <regimen/core/compiled.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace regimen::comm::detail {

REGIMEN_INLINE ThreadsWorld::ThreadsWorld(std::size_t ranks, Deadline deadline)
    : deadline_(checked(deadline)), seats_(ranks) {}

REGIMEN_INLINE void ThreadsWorld::arrive(std::size_t rank, CollectiveKind kind, std::size_t bytes, std::size_t about,
                                         const std::byte* memory) {
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
  if (cause_.empty()) fail("no sign of " + who([](const Seat& s) { return !s.here; }) + " within " + words(deadline_));
  throw error(rank);
}

REGIMEN_INLINE void ThreadsWorld::barrier() {
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

REGIMEN_INLINE void ThreadsWorld::leave(std::size_t rank, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  fail(rank_failed(rank, reason));
}

REGIMEN_INLINE std::string ThreadsWorld::gone(std::size_t rank) {
  const std::lock_guard lock(mutex_);
  if (!cause_.empty()) throw error(rank);
  return who([](const Seat& s) { return s.ended; });
}

REGIMEN_INLINE void ThreadsWorld::end(std::size_t rank) {
  const std::lock_guard lock(mutex_);
  seats_[rank].ended = true;
  if (here_ > 0 && !seats_[rank].here)
    fail(who([](const Seat& s) { return s.ended && !s.here; }) + " ended without it");
}

REGIMEN_INLINE void ThreadsWorld::open(std::size_t rank) {
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

REGIMEN_INLINE void ThreadsWorld::fail(const std::string& cause) {
  if (cause_.empty()) cause_ = cause;
  changed_.notify_all();
}

REGIMEN_INLINE PeerError ThreadsWorld::error(std::size_t rank) const {
  return peer_error(rank, size(), seats_[rank].call, cause_);
}

REGIMEN_INLINE std::string ThreadsWorld::who(bool (*is)(const Seat&)) const {
  return ranks_where(size(), [&](std::size_t r) { return is(seats_[r]); });
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
