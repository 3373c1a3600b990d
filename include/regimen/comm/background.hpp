// regimen/comm/background.hpp — runs collectives in order on a worker thread, while the caller computes.
#pragma once

#include <regimen/comm/communicator.hpp>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>

namespace regimen::comm {

/// Runs the collectives of C on one worker, first in, first out, and gives a PendingCollective for each.
///
///   Background behind(ranks);
///   const PendingCollective sums = behind.reduce_scatter(all, own, count, staging);
///   ...                                  // compute; neither read own nor write all
///   sums.wait();
///
/// Starting a collective copies its arguments and allocates nothing; it blocks while `depth` collectives wait. While a
/// Background exists, nobody else may call collectives of C. One thread starts collectives; any thread may wait for
/// them.
///
/// failure  if a collective throws, its wait(), all later waits and all later starts throw the same; later collectives
///          never run; the results of earlier ones stay valid
/// end      the destructor waits for started collectives, and does not throw. During stack unwinding C leaves if a
///          collective has not ended: then the wait is short, and collectives that have not begun never begin. If all
///          have ended, C stays: the catcher of the exception leaves with its words, as launch and the destructor of C
///          do. Declare a Background after the memory that its collectives use
template <Collectives C>
class Background final : public detail::Waiter {
 public:
  explicit Background(C& inner) : inner_(inner), exceptions_(std::uncaught_exceptions()), worker_([this] { work(); }) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() {
    bool unfinished = false;
    {
      const std::lock_guard lock(mutex_);
      unfinished = started_ > done_ && !failure_;
      stop_ = true;
    }
    // The words of the exception are unknown here. Its catcher knows them, and leaves first if nobody must leave now.
    if (unfinished && std::uncaught_exceptions() > exceptions_) leave("an exception");
    changed_.notify_all();
    worker_.join();
  }

  std::size_t rank() const { return inner_.rank(); }
  std::size_t size() const { return inner_.size(); }
  static constexpr std::size_t staging_bytes(std::size_t ranks, std::size_t slice_bytes) {
    return C::staging_bytes(ranks, slice_bytes);
  }

  PendingCollective all_gather(const std::byte* own, std::byte* all, std::size_t slice_bytes, Teams teams = {}) {
    return start(
        {.run = [](C& c, const Job& job) { c.all_gather(bytes(job.in), bytes(job.out), job.count, job.teams); },
         .in = own,
         .out = all,
         .count = slice_bytes,
         .teams = teams});
  }
  PendingCollective all_gather_small(const std::byte* own, std::byte* all, std::size_t count) {
    return start(
        {[](C& c, const Job& job) { c.all_gather_small(bytes(job.in), bytes(job.out), job.count); }, own, all, count});
  }
  template <Number T>
  PendingCollective reduce_scatter(const T* all, T* own, std::size_t count, std::byte* staging, Teams teams = {}) {
    const auto run = [](C& c, const Job& job) {
      c.reduce_scatter(static_cast<const T*>(job.in), static_cast<T*>(job.out), job.count, job.staging, job.teams);
    };
    return start({.run = run, .in = all, .out = own, .count = count, .staging = staging, .teams = teams});
  }
  PendingCollective barrier() {
    return start({[](C& c, const Job&) { c.barrier(); }});
  }

  /// Waits for all started collectives.
  void wait_for_all() { wait(started_); }

  /// This rank leaves and tells the other ranks why: the running collective ends, and waiting ones throw when they
  /// begin.
  void leave(std::string_view reason) { inner_.leave(reason); }

  /// Returns when collective number `ticket`, counted from 1, has ended. PendingCollective calls it.
  void wait(std::uint64_t ticket) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= ticket || failure_; });
    if (done_ < ticket) std::rethrow_exception(failure_);
  }

 private:
  static constexpr std::size_t depth = 256;
  struct Job {
    void (*run)(C&, const Job&) = nullptr;
    const void* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0;
    std::byte* staging = nullptr;
    Teams teams{};
  };
  static const std::byte* bytes(const void* memory) { return static_cast<const std::byte*>(memory); }
  static std::byte* bytes(void* memory) { return static_cast<std::byte*>(memory); }

  PendingCollective start(const Job& job) {
    std::uint64_t ticket = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return failure_ || started_ - done_ < depth; });
      if (failure_) std::rethrow_exception(failure_);
      jobs_[started_ % depth] = job;
      ticket = ++started_;
    }
    changed_.notify_all();
    return {this, ticket};
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop_ || started_ > done_; });
      if (started_ == done_) return;          // stopped, and no collective is left
      const Job& job = jobs_[done_ % depth];  // the slot is not reused before the collective ends
      lock.unlock();
      std::exception_ptr failure;
      try {
        job.run(inner_, job);
      } catch (...) { failure = std::current_exception(); }
      lock.lock();
      if (failure) {
        failure_ = failure;
        changed_.notify_all();
        return;
      }
      ++done_;
      changed_.notify_all();
    }
  }

  C& inner_;
  const int exceptions_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Job, depth> jobs_{};         // guarded; a ring
  std::uint64_t started_ = 0, done_ = 0;  // guarded
  bool stop_ = false;                     // guarded
  std::exception_ptr failure_;            // guarded: of the first failed collective
  std::thread worker_;                    // last: starts after all other members
};

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
