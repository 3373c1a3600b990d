// regimen/comm/threads.hpp — ranks are threads of one process and read each other's memory.
#pragma once

#include <regimen/comm/communicator.hpp>
#include <regimen/comm/detail/threads_world.hpp>
#include <regimen/comm/tree.hpp>
#include <regimen/core/error.hpp>

#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace regimen::comm {

/// The state that the ranks of one world share: std::make_shared<ThreadsWorld>(ranks, deadline).
using ThreadsWorld = detail::ThreadsWorld;

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
  Threads(std::shared_ptr<ThreadsWorld> world, std::size_t rank)
      : world_(std::move(world)), rank_(rank), exceptions_(std::uncaught_exceptions()) {
    if (rank_ >= world_->size())
      throw Error("Threads", "a rank below " + std::to_string(world_->size()), std::to_string(rank_));
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    if (std::uncaught_exceptions() > exceptions_) leave("an exception");
    world_->end(rank_);
  }

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return world_->size(); }
  static constexpr std::size_t staging_bytes(std::size_t /*ranks*/, std::size_t /*slice_bytes*/) { return 0; }

  void all_gather(const std::byte* own, std::byte* all, std::size_t slice_bytes, Teams teams = {}) {
    gather(CollectiveKind::AllGather, own, all, slice_bytes, teams);
  }
  void all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) {
    gather(CollectiveKind::AllGatherSmall, own, all, bytes, {});
  }

  template <Number T>
  void reduce_scatter(const T* all, T* own, std::size_t count, std::byte* /*staging*/, Teams teams = {}) {
    world_->arrive(rank_, CollectiveKind::ReduceScatter, count * sizeof(T), sizeof(T),
                   reinterpret_cast<const std::byte*>(all));
    tree_sum(summands<T>(teams.place(rank_) * count, teams), teams.members(size()), own, count);
    world_->barrier();
  }

  void barrier() {
    world_->arrive(rank_, CollectiveKind::Barrier, 0, 0, nullptr);
    world_->barrier();
  }

  void leave(std::string_view reason) { world_->leave(rank_, reason); }
  std::string gone() { return world_->gone(rank_); }
  Deadline deadline() const { return world_->deadline(); }

 private:
  /// All ranks wait for each other, whatever their teams: all are in the same collective.
  void gather(CollectiveKind kind, const std::byte* own, std::byte* all, std::size_t bytes, Teams teams) {
    world_->arrive(rank_, kind, bytes, 0, own);
    std::byte* const place = all + teams.place(rank_) * bytes;
    if (own != place) copy(own, place, bytes);
    for_each_other(teams, [&](std::size_t p) { copy(world_->shown(teams.member(rank_, p)), all + p * bytes, bytes); });
    world_->barrier();
  }

  /// Each rank begins with its neighbour, so that ranks do not all read the same memory at once.
  template <class Body>
  void for_each_other(Teams teams, const Body& body) const {
    const std::size_t members = teams.members(size());
    for (std::size_t step = 1; step < members; ++step) body((teams.place(rank_) + step) % members);
  }
  template <Number T>
  auto summands(std::size_t at, Teams teams) const {
    return [world = world_.get(), rank = rank_, at, teams](std::size_t p) {
      return reinterpret_cast<const T*>(world->shown(teams.member(rank, p))) + at;
    };
  }
  static void copy(const std::byte* from, std::byte* to, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }

  const std::shared_ptr<ThreadsWorld> world_;
  const std::size_t rank_;
  const int exceptions_;  // in flight at construction
};

static_assert(Collectives<Threads>);

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
