// regimen/comm/threads.ipp — the bodies of threads.hpp.
#pragma once

#include <regimen/comm/threads.hpp>
#include <regimen/comm/tree.hpp>
#include <regimen/core/error.hpp>

#include <cstring>
#include <exception>
#include <utility>

namespace regimen::comm {

REGIMEN_INLINE ThreadsWorld::ThreadsWorld(std::size_t ranks, Deadline deadline)
    : deadline_(detail::checked(deadline)), seats_(ranks) {}

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
  changed_.wait_until(lock, detail::end_of(deadline_), [&] { return opened_ != opened || !cause_.empty(); });
  if (opened_ != opened) return;  // first: the others may already be reading
  if (cause_.empty())
    fail("no sign of " + who([](const Seat& s) { return !s.here; }) + " within " + detail::words(deadline_));
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
  fail(detail::rank_failed(rank, reason));
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
    fail("rank 0 in " + detail::words(seats_[0].call) + " and rank " + std::to_string(r) + " in " +
         detail::words(seats_[r].call));
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

REGIMEN_INLINE std::string ThreadsWorld::who(bool (*is)(const Seat&)) const {
  return detail::ranks_where(size(), [&](std::size_t r) { return is(seats_[r]); });
}

REGIMEN_INLINE Threads::Threads(std::shared_ptr<ThreadsWorld> world, std::size_t rank)
    : world_(std::move(world)), rank_(rank), exceptions_(std::uncaught_exceptions()) {
  if (rank_ >= world_->size())
    throw Error("Threads", "a rank below " + std::to_string(world_->size()), std::to_string(rank_));
}

REGIMEN_INLINE Threads::~Threads() {
  if (std::uncaught_exceptions() > exceptions_) leave("an exception");
  world_->end(rank_);
}

template <Number T>
void Threads::reduce_scatter(const T* all, T* own, std::size_t count, std::byte* /*staging*/, Teams teams) {
  world_->arrive(rank_, CollectiveKind::ReduceScatter, count * sizeof(T), sizeof(T),
                 reinterpret_cast<const std::byte*>(all));
  const auto summand = [world = world_.get(), rank = rank_, at = teams.place(rank_) * count, teams](std::size_t p) {
    return reinterpret_cast<const T*>(world->shown(teams.member(rank, p))) + at;
  };
  tree_sum(summand, teams.members(size()), own, count);
  world_->barrier();
}

#if REGIMEN_COMPILED
template void Threads::reduce_scatter(const fp64*, fp64*, std::size_t, std::byte*, Teams);
template void Threads::reduce_scatter(const fp32*, fp32*, std::size_t, std::byte*, Teams);
template void Threads::reduce_scatter(const bf16*, bf16*, std::size_t, std::byte*, Teams);
template void Threads::reduce_scatter(const fp16*, fp16*, std::size_t, std::byte*, Teams);
#endif

REGIMEN_INLINE void Threads::barrier() {
  world_->arrive(rank_, CollectiveKind::Barrier, 0, 0, nullptr);
  world_->barrier();
}

REGIMEN_INLINE void Threads::gather(CollectiveKind kind, const std::byte* own, std::byte* all, std::size_t bytes,
                                    Teams teams) {
  world_->arrive(rank_, kind, bytes, 0, own);
  std::byte* const place = all + teams.place(rank_) * bytes;
  const auto copy = [bytes](const std::byte* from, std::byte* to) {
    if (bytes != 0) std::memcpy(to, from, bytes);
  };
  if (own != place) copy(own, place);
  teams.for_each_other(rank_, size(), [&](std::size_t p, std::size_t r) { copy(world_->shown(r), all + p * bytes); });
  world_->barrier();
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
