// regimen/comm/launch.hpp — runs a function on n threads, each of them a rank.
#pragma once

#include <regimen/comm/rendezvous.hpp>
#include <regimen/comm/threads.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/threads.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace regimen {

namespace comm::detail {

inline bool is_peer_error(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const PeerError&) { return true; } catch (...) {
    return false;
  }
}

/// The ends of the ranks, in order of time.
class Endings final {
 public:
  explicit Endings(std::size_t ranks) : returned_(ranks, false) {}

  void add(std::size_t rank, const std::exception_ptr& failure) {
    {
      const std::lock_guard lock(mutex_);
      returned_[rank] = true;
      ++ended_;
      // A rank's own error is the cause; the PeerErrors of other ranks are consequences.
      if (failure && (!cause_ || (is_peer_error(cause_) && !is_peer_error(failure)))) {
        cause_ = failure;
        rank_ = rank;
      }
    }
    changed_.notify_all();
  }

  /// Returns when all ranks have ended. After one has failed, the others have `patience` to notice.
  void wait(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    const auto all = [this] { return ended_ == returned_.size(); };
    changed_.wait(lock, [&] { return all() || cause_; });
    if (changed_.wait_until(lock, end_of(patience), all)) return;
    const std::string hang = ranks_where(returned_.size(), [this](std::size_t r) { return !returned_[r]; });
    std::fprintf(stderr,
                 "regimen: launch: %s; %s has not returned since, and a thread cannot be ended: the process ends\n",
                 text().c_str(), hang.c_str());
    std::_Exit(EXIT_FAILURE);
  }

  void rethrow() const {
    if (!cause_) return;
    try {
      std::rethrow_exception(cause_);
    } catch (...) {
      std::throw_with_nested(Error("launch", "all " + std::to_string(returned_.size()) + " ranks to return", text()));
    }
  }

 private:
  std::string text() const { return rank_failed(rank_, regimen::detail::words_of(cause_)); }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> returned_;
  std::size_t ended_ = 0, rank_ = 0;
  std::exception_ptr cause_;
};

}  // namespace comm::detail

/// f(communicator) on `ranks` threads of this process, each with its own comm::Threads. Each rank computes with
/// OMP_NUM_THREADS threads, else with an equal share of the processors, at least one.
///
///   regimen::launch(4, [](regimen::comm::Threads& ranks) { ... ranks.reduce_scatter(...) ... });
///
/// failure  an exception of one rank ends the collectives of all ranks. When all have returned, launch throws
///          Error, which says which rank failed and why, and nests the exception (std::rethrow_if_nested). If a
///          rank does not return within the deadline (at least 10 s) after that, the process ends and names the
///          rank: a thread cannot be ended. Error if a launcher started this process as one of several
template <class F>
void launch(std::size_t ranks, const F& f, comm::Deadline deadline = comm::default_deadline) {
  if (ranks == 0) throw Error("launch", "at least one rank", "0");
  comm::refuse_other_ranks(comm::world_of_environment(), comm::cure_of_own_ranks);
  const auto world = std::make_shared<comm::ThreadsWorld>(ranks, deadline);
  comm::detail::Endings endings(ranks);
  const auto body = [&](std::size_t rank) noexcept {
    std::exception_ptr failure;
    share_processors(ranks);
    try {
      comm::Threads communicator(world, rank);
      try {
        f(communicator);
      } catch (...) {
        communicator.leave(detail::words_of(std::current_exception()));
        throw;
      }
    } catch (...) { failure = std::current_exception(); }
    endings.add(rank, failure);
  };
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    try {
      threads.emplace_back(body, rank);
    } catch (...) {  // out of threads: do not wait for ranks that never began
      for (std::size_t absent = rank; absent < ranks; ++absent) {
        world->leave(absent, "its thread could not be started");
        endings.add(absent, std::current_exception());
      }
      break;
    }
  }
  endings.wait((std::max)(deadline, comm::Deadline(std::chrono::seconds(10))));
  for (std::thread& thread : threads) thread.join();
  endings.rethrow();
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
