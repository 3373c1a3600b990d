// regimen/comm/mpi.hpp — ranks that mpirun or srun starts as MPI processes.
#pragma once

#if REGIMEN_HAS_MPI

#include <regimen/comm/communicator.hpp>
#include <regimen/comm/peer_error.hpp>
#include <regimen/comm/tree.hpp>
#include <regimen/core/error.hpp>

#include <mpi.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace regimen::comm {

/// The communicator over MPI_COMM_WORLD, or over the ranks of another MPI_Comm, by MPI's C interface; link
/// regimen::mpi. At most one at a time in a process.
///
///   regimen::comm::Mpi ranks;                                   // MPI_Init unless done before;
///                                                               then also MPI_Finalize at the end
///   MPI_Comm part = MPI_COMM_NULL;                              // a part of the ranks, each of which comes here
///   MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
///   regimen::comm::Mpi ranks(part);                             // on a duplicate: the program's own messages stay apart
///
/// A rank sends each slice straight to its owner (MPI_Isend, MPI_Irecv), which sums in the tree's order: MPI_Allreduce
/// and MPI_Reduce_scatter add in an order that depends on size and algorithm. MPI's Alltoall and Allgather would move
/// the same bytes, but do not tell which rank is missing when they hang; here each receive belongs to one rank.
///
/// failure   MPI cannot cancel messages in flight, so all ranks end: a rank that leaves, or that waited longer than the
///           deadline, writes the error that Collectives would throw to standard error and ends the job
///           (MPI_Abort); also where an exception destroys the communicator. mpirun names a killed rank and ends
///           the others.
///           Ranks in different collectives run into the deadline. So does the constructor if some ranks of the
///           communicator do not come: MPI waits for them without end and cannot name them, so the process writes an
///           error and ends, and mpirun ends the others. The constructor throws Error if MPI lacks
///           MPI_THREAD_SERIALIZED, which Background needs, and for a communicator without ranks or with two groups
/// cost      all_gather, reduce_scatter: (ranks − 1) · slice out and as much in; staging: chunked_staging_bytes. A
///           waiting rank yields its core at first, and after a millisecond sleeps 50 µs at a time
class Mpi final {
 public:
  explicit Mpi(Deadline deadline = default_deadline) : Mpi(MPI_COMM_WORLD, deadline) {}
  /// ranks   MPI_COMM_WORLD, or a communicator that the program has made. All its ranks make an Mpi of it
  explicit Mpi(MPI_Comm ranks, Deadline deadline = default_deadline)
      : deadline_(detail::checked(deadline)), exceptions_(std::uncaught_exceptions()) {
    if (ranks == MPI_COMM_NULL)
      throw Error("Mpi", "a communicator that has this rank", "MPI_COMM_NULL",
                  "make an Mpi on the ranks of the communicator alone");
    int started = 0, level = 0;
    MPI_Initialized(&started);
    if (started == 0) {
      const Watch watch(deadline_, "all ranks of the job to call MPI_Init");
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
      ours_ = true;
    } else {
      MPI_Query_thread(&level);
    }
    if (level < MPI_THREAD_SERIALIZED) {
      throw Error("Mpi", "MPI_THREAD_SERIALIZED at least", "level " + std::to_string(level),
                  "call MPI_Init_thread, or leave it to Mpi");
    }
    int two_groups = 0;
    MPI_Comm_test_inter(ranks, &two_groups);
    if (two_groups != 0)
      throw Error("Mpi", "a communicator of one group of ranks", "an intercommunicator",
                  "merge it: MPI_Intercomm_merge");
    int rank = 0, size = 1;
    MPI_Comm_rank(ranks, &rank);
    MPI_Comm_size(ranks, &size);
    {
      const Watch watch(deadline_, "all " + std::to_string(size) + " ranks of its communicator to make an Mpi, as " +
                                       detail::place(static_cast<std::size_t>(rank), static_cast<std::size_t>(size)) +
                                       " does,");
      MPI_Comm_dup(ranks, &world_);
    }
    rank_ = static_cast<std::size_t>(rank);
    requests_.assign(2 * static_cast<std::size_t>(size), MPI_REQUEST_NULL);
  }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  ~Mpi() {
    if (std::uncaught_exceptions() > exceptions_) leave("an exception");
    MPI_Comm_free(&world_);
    if (ours_) MPI_Finalize();
  }

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return requests_.size() / 2; }
  static constexpr std::size_t staging_bytes(std::size_t ranks, std::size_t slice_bytes) {
    return chunked_staging_bytes(ranks, slice_bytes);
  }

  void all_gather(const std::byte* own, std::byte* all, std::size_t slice_bytes, Teams teams = {}) {
    gather(CollectiveKind::AllGather, own, all, slice_bytes, teams);
  }
  void all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) {
    gather(CollectiveKind::AllGatherSmall, own, all, bytes, {});
  }

  template <Number T>
  void reduce_scatter(const T* all, T* own, std::size_t count, std::byte* staging, Teams teams = {}) {
    begin(CollectiveKind::ReduceScatter, count * sizeof(T), sizeof(T));
    const std::size_t members = teams.members(size()), here = teams.place(rank_);
    const std::size_t most = chunk_bytes(members) / sizeof(T),
                      lane = ((count < most ? count : most) * sizeof(T) + 63) / 64 * 64;
    const auto lane_of = [&](std::size_t p) { return staging + (p < here ? p : p - 1) * lane; };
    for (std::size_t at = 0; at < count; at += most) {
      const std::size_t now = most < count - at ? most : count - at;
      teams.for_each_other(rank_, size(),
                           [&](std::size_t p, std::size_t r) { receive(r, lane_of(p), now * sizeof(T)); });
      teams.for_each_other(rank_, size(), [&](std::size_t p, std::size_t r) {
        send(r, reinterpret_cast<const std::byte*>(all + p * count + at), now * sizeof(T));
      });
      finish();
      tree_sum(
          [&](std::size_t p) { return p == here ? all + here * count + at : reinterpret_cast<const T*>(lane_of(p)); },
          members, own + at, now);
    }
  }

  /// Empty messages instead of MPI_Ibarrier, which cannot name the rank that is missing.
  void barrier() {
    begin(CollectiveKind::Barrier, 0, 0);
    Teams{}.for_each_other(rank_, size(), [&](std::size_t, std::size_t r) {
      receive(r, nullptr, 0);
      send(r, nullptr, 0);
    });
    finish();
  }

  Deadline deadline() const { return deadline_; }
  [[noreturn]] void leave(std::string_view reason) { end(detail::rank_failed(rank_, reason)); }

 private:
  static constexpr std::size_t piece = std::size_t{64} << 20;  // MPI counts in int

  /// While it lives MPI waits for other ranks; after the deadline it ends the process, as MPI would wait for ever.
  class Watch final {
   public:
    Watch(Deadline deadline, const std::string& expected)
        : thread_([this, deadline, expected] {
            std::unique_lock lock(mutex_);
            if (ended_.wait_until(lock, detail::end_of(deadline), [this] { return has_ended_; })) return;
            const Error error("Mpi", expected + " within " + detail::words(deadline), "some that do not come",
                              "start all of them, or give Mpi the MPI_Comm of those that come: comm::Mpi(ranks)");
            std::fprintf(stderr, "regimen: %s\n", error.what());
            std::fflush(nullptr);
            std::_Exit(EXIT_FAILURE);
          }) {}
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() {
      {
        const std::lock_guard lock(mutex_);
        has_ended_ = true;
      }
      ended_.notify_one();
      thread_.join();
    }

   private:
    std::mutex mutex_;
    std::condition_variable ended_;
    bool has_ended_ = false;
    std::thread thread_;  // the last member: it uses the others
  };

  void begin(CollectiveKind kind, std::size_t bytes, std::size_t about) {
    call_ = {number_++, bytes, static_cast<std::uint32_t>(about), kind};
    tag_ = static_cast<int>(call_.number % 4096 * collective_kinds) +
           static_cast<int>(kind);  // every MPI allows tags up to 32767
  }

  void receive(std::size_t r, std::byte* bytes, std::size_t count) {
    MPI_Irecv(bytes, static_cast<int>(count), MPI_BYTE, static_cast<int>(r), tag_, world_, &requests_[2 * r]);
  }
  void send(std::size_t r, const std::byte* bytes, std::size_t count) {
    MPI_Isend(bytes, static_cast<int>(count), MPI_BYTE, static_cast<int>(r), tag_, world_, &requests_[2 * r + 1]);
  }

  /// Waits for all requests.
  void finish() {
    const detail::Clock::time_point start = detail::Clock::now(), until = detail::end_of(deadline_, start);
    for (;;) {
      int all = 0;
      MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
      if (all != 0) return;
      const auto now = detail::Clock::now();
      if (now > until) {
        // Testall completes all or none: test each request, to name only the ranks that are missing.
        std::vector<bool> missing(size(), false);
        for (std::size_t i = 0; i < requests_.size(); ++i) {
          int done = 1;
          if (requests_[i] != MPI_REQUEST_NULL) MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
          if (done == 0) missing[i / 2] = true;
        }
        end("no sign of " + detail::ranks_where(size(), [&](std::size_t r) { return missing[r]; }) + " within " +
            detail::words(deadline_));
      }
      if (now < start + std::chrono::milliseconds(1)) std::this_thread::yield();
      else std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  [[noreturn]] void end(const std::string& cause) const {
    std::fprintf(stderr, "regimen: %s\n", detail::peer_error(rank_, size(), call_, cause).what());
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    std::abort();
  }

  void gather(CollectiveKind kind, const std::byte* own, std::byte* all, std::size_t bytes, Teams teams) {
    begin(kind, bytes, 0);
    std::byte* const here = all + teams.place(rank_) * bytes;
    if (own != here && bytes != 0) std::memcpy(here, own, bytes);
    for (std::size_t at = 0; at < bytes; at += piece) {
      const std::size_t now = piece < bytes - at ? piece : bytes - at;
      teams.for_each_other(rank_, size(), [&](std::size_t p, std::size_t r) { receive(r, all + p * bytes + at, now); });
      teams.for_each_other(rank_, size(), [&](std::size_t, std::size_t r) { send(r, here + at, now); });
      finish();
    }
  }

  const Deadline deadline_;
  const int exceptions_;  // in flight at construction
  bool ours_ = false;     // to finalize
  MPI_Comm world_ = MPI_COMM_NULL;
  std::size_t rank_ = 0;
  std::vector<MPI_Request> requests_;  // two for each rank: receive, send
  std::uint64_t number_ = 0;
  detail::Call call_;
  int tag_ = 0;
};

static_assert(Collectives<Mpi>);

}  // namespace regimen::comm

#endif  // REGIMEN_HAS_MPI
// SPDX-License-Identifier: Apache-2.0
