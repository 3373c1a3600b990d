// regimen/comm/launch.ipp — the bodies of launch.hpp.
#pragma once

#include <regimen/comm/launch.hpp>
#include <regimen/comm/rendezvous.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/threads.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace regimen::comm::detail {

REGIMEN_INLINE bool is_peer_error(const std::exception_ptr& failure) {
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

REGIMEN_INLINE void run_threads(std::size_t ranks, const std::function<void(Threads&)>& f, Deadline deadline) {
  if (ranks == 0) throw Error("launch", "at least one rank", "0");
  refuse_other_ranks(world_of_environment(), cure_of_own_ranks);
  const auto world = std::make_shared<ThreadsWorld>(ranks, deadline);
  Endings endings(ranks);
  const auto body = [&](std::size_t rank) noexcept {
    std::exception_ptr failure;
    share_processors(ranks);
    try {
      Threads communicator(world, rank);
      try {
        f(communicator);
      } catch (...) {
        communicator.leave(regimen::detail::words_of(std::current_exception()));
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
  endings.wait((std::max)(deadline, Deadline(std::chrono::seconds(10))));
  for (std::thread& thread : threads) thread.join();
  endings.rethrow();
}

}  // namespace regimen::comm::detail
// SPDX-License-Identifier: Apache-2.0
