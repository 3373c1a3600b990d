// regimen/engine/emulated/connection.hpp — the library that connects GPUs, for emulated devices: ranks are threads.
#pragma once

#include <regimen/comm/threads.hpp>
#include <regimen/core/error.hpp>
#include <regimen/engine/cuda/runtime.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace regimen::emulated {

/// As large as NCCL's.
using Id = std::array<std::byte, 128>;

/// A communicator of NCCL (2.28, nccl.h) that is not blocking: every call returns before it has done its work, and none
/// may follow until is_ready() is true.
///
/// sums      the tree of comm/tree.hpp; the library's own order is another, and its own secret
/// graphs    a collective is in a graph on all ranks, and in the same one, or on none       NCCL, "Using NCCL with CUDA
///           Graphs"
/// failure   where ranks call different collectives, or one has gone, NCCL's kernels wait for ever, or compute junk.
///           Here the results are NaN, and is_ready() throws the asynchronous error that the library may have seen
class Connection final {
  struct World {
    World(std::size_t size, comm::Deadline patience)
        : ranks(std::make_shared<comm::ThreadsWorld>(size, patience)), graphs(size) {}
    const std::shared_ptr<comm::ThreadsWorld> ranks;
    std::atomic<std::size_t> joined{0};
    std::vector<std::array<std::atomic<std::size_t>, 2>> graphs;  // by rank: of this collective, of the one before
  };

 public:
  /// What is queued keeps this, so that a graph may outlive the connection.
  class Work final {
   public:
    Work(std::shared_ptr<World> given, std::size_t rank) : world(std::move(given)), ranks(world->ranks, rank) {}

    /// graph   which graph it is part of; 0: of none
    void run(const cuda::Collective& collective, const std::byte* own, std::byte* all, std::size_t graph) {
      try {
        if (was_aborted || !error.empty()) return spoil(collective, all);
        const std::size_t turn = collectives_++ % 2;  // no rank is two collectives ahead of another
        world->graphs[ranks.rank()][turn] = graph;
        if (collective.kind == comm::CollectiveKind::AllGather) ranks.all_gather(own, all, collective.bytes);
        else if (collective.kind == comm::CollectiveKind::AllGatherSmall)
          ranks.all_gather_small(own, all, collective.bytes);
        else reduce_scatter(collective, all);
        for (std::size_t r = 0; r < ranks.size(); ++r)
          if (const std::size_t other = world->graphs[r][turn]; other != graph && error.empty())
            error = "a collective in graph " + std::to_string(graph) + ", and in graph " + std::to_string(other) +
                    " on rank " + std::to_string(r) + " (0: in none)";
      } catch (const comm::PeerError& failed) {
        error = failed.what();
        spoil(collective, all);
      }
    }

    const std::shared_ptr<World> world;
    comm::Threads ranks;
    bool was_aborted = false;
    std::string error;

   private:
    std::size_t collectives_ = 0;

    void reduce_scatter(const cuda::Collective& collective, std::byte* all) {
      const std::size_t count = collective.count();
      with_element(collective.element, [&]<class T>(T) {
        T* const whole = reinterpret_cast<T*>(all);
        ranks.reduce_scatter(static_cast<const T*>(whole), whole + ranks.rank() * count, count, nullptr);
      });
    }
    void spoil(const cuda::Collective& collective, std::byte* all) {
      std::memset(all, 0xFF, collective.bytes * ranks.size());
    }
  };

  Connection() = default;
  Connection(const Id& id, std::size_t rank, std::size_t size, std::uint64_t seed, comm::Deadline patience)
      : questions_(std::mt19937(static_cast<std::mt19937::result_type>(seed + rank))() % 4) {
    if (rank >= size)
      throw Error("ncclCommInitRankConfig (ncclInvalidArgument)", "a rank below " + std::to_string(size),
                  std::to_string(rank));
    work_ = std::make_shared<Work>(world_of(id, size, patience), rank);
    ++work_->world->joined;
  }

  std::size_t size() const { return work_->ranks.size(); }
  std::shared_ptr<Work> work() const { return work_; }

  bool is_ready() {
    expect_not_aborted("ncclCommGetAsyncError");
    if (!work_->error.empty()) throw Error("ncclCommGetAsyncError", "ncclSuccess", "ncclRemoteError: " + work_->error);
    was_ready_ = questions_ == 0 && work_->world->joined == size();
    if (questions_ > 0) --questions_;
    return was_ready_;
  }

  /// What the documentation demands of a call, and that it is not called too early.
  void check(const cuda::Collective& collective, const std::byte* own, const std::byte* all) {
    expect_not_aborted(call);
    if (!was_ready_) throw Error(call, "a call after the last one has returned", "one while it is in progress");
    if (collective.kind == comm::CollectiveKind::ReduceScatter && collective.bytes % bytes_of(collective.element) != 0)
      throw Error(call, "a slice of whole elements", std::to_string(collective.bytes) + " bytes");
    const std::less<const std::byte*> before;
    const bool is_apart = !before(own, all + collective.bytes * size()) || !before(all, own + collective.bytes);
    const bool is_in_place = own == all + work_->ranks.rank() * collective.bytes;
    if (!is_in_place && (collective.kind == comm::CollectiveKind::ReduceScatter || !is_apart))
      throw Error(std::string(call) + " (ncclInvalidArgument)",
                  "this rank's slice in its place, or apart from all slices", "one that overlaps");
    was_ready_ = false;
  }

  void abort() {
    if (work_->was_aborted) return;
    work_->was_aborted = true;
    work_->ranks.leave("it aborted its connection");
  }

 private:
  static constexpr const char* call = "a collective of NCCL";

  void expect_not_aborted(const char* what) const {
    if (work_ == nullptr || work_->was_aborted)
      throw Error(std::string(what) + " (ncclInvalidUsage)", "a communicator that was not aborted", "one that was");
  }
  /// The ranks of an id meet here.
  static std::shared_ptr<World> world_of(const Id& id, std::size_t size, comm::Deadline patience) {
    static std::mutex mutex;
    static std::map<Id, std::weak_ptr<World>> worlds;
    const std::lock_guard lock(mutex);
    std::shared_ptr<World> world = worlds[id].lock();
    if (world == nullptr) worlds[id] = world = std::make_shared<World>(size, patience);
    if (world->ranks->size() != size)
      throw Error("ncclCommInitRankConfig (ncclInvalidArgument)", "as many ranks as the others say",
                  std::to_string(size) + ", where they say " + std::to_string(world->ranks->size()));
    return world;
  }

  std::shared_ptr<Work> work_;
  std::size_t questions_ = 0;  // so often it is not yet ready
  bool was_ready_ = false;
};

}  // namespace regimen::emulated
// SPDX-License-Identifier: Apache-2.0
