// regimen/engine/cpu/parallel.hpp — parallel_for: the only way in which a CPU loop uses several cores; a thread's
// helper threads; and how work is cut.
#pragma once

#include <regimen/core/threads.hpp>
#include <regimen/engine/cpu/single_thread.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <unistd.h>

namespace regimen::cpu {

/// The begin of part `part` when `count` things are cut into `parts` nearly equal pieces.
constexpr std::size_t part_begin(std::size_t count, std::size_t parts, std::size_t part) {
  return count / parts * part + (part < count % parts ? part : count % parts);
}

/// The things from begin on, up to the one before end.
struct Range final {
  std::size_t begin, end;
};

/// The next multiple of `to`.
constexpr std::size_t round_up(std::size_t count, std::size_t to) { return (count + to - 1) / to * to; }

namespace detail {

/// All processors of the machine, also those that this process may not use.
inline std::size_t machine_processors() {
  static const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? static_cast<std::size_t>(count) : 1;
}

/// How long a waiting thread spins: longer than the gaps between the loops of a step, so that on an idle machine nobody
/// waits for a wake-up; shorter than a time slice of the scheduler, so that other programs get the processor.
inline constexpr std::chrono::microseconds spin_time{50};

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Returns when `word` differs from `old`: spins for a while, then sleeps.
inline void wait_while(const std::atomic<unsigned>& word, unsigned old) {
  const auto give_up = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 16; ++i) {
      if (word.load(std::memory_order_acquire) != old) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() < give_up);
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

/// A thread and its helpers, which take chunks of its loops dynamically. A loop ends when every chunk is done. Nobody
/// waits for a helper that another program keeps from running, since it has taken no chunk.
///
/// Each thread starts with the same share of every loop and then takes what other shares have left. So the next loop
/// finds what the last one wrote in the cache of the core that wrote it.
class Team final {
 public:
  /// The team of the calling thread; null inside a loop: nested loops are serial.
  static Team* here() {
    if (inside || in_parallel_region()) return nullptr;
    thread_local Owner owner;
    if (owner.team == nullptr || owner.forks != forks()) {
      of_parent = owner.team.release();
      owner.team = std::make_unique<Team>();
      owner.forks = forks();
    }
    return owner.team.get();
  }

  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    ending_.store(true, std::memory_order_relaxed);
    call(helpers_.size());
    for (const auto& helper : helpers_) helper->thread.join();
  }

  using Chunk = void (*)(const void* body, std::size_t chunk);

  void run(std::size_t chunks, int threads, Chunk chunk, const void* body) {
    const std::size_t wanted =
        static_cast<std::size_t>(threads) < chunks ? static_cast<std::size_t>(threads) - 1 : chunks - 1;
    while (helpers_.size() < wanted && add_helper()) {}
    chunk_ = chunk;
    body_ = body;
    shares_ = (wanted < helpers_.size() ? wanted : helpers_.size()) + 1;
    for (std::size_t share = 0; share < shares_; ++share) {
      Share& of = share == 0 ? own_ : helpers_[share - 1]->share;
      of.next.store(part_begin(chunks, shares_, share), std::memory_order_relaxed);
      of.end = part_begin(chunks, shares_, share + 1);
    }
    gate_.store(open, std::memory_order_release);
    call(shares_ - 1);
    work(0);
    for (unsigned gate = gate_.fetch_and(~open, std::memory_order_acq_rel) & ~open; gate != 0;
         gate = gate_.load(std::memory_order_acquire))
      wait_while(gate_, gate);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  static constexpr unsigned open = 1, one_inside = 2;  // of gate_

  /// Chunks of a loop that nobody has taken yet.
  struct alignas(64) Share final {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };
  struct alignas(64) Helper final {
    std::atomic<unsigned> calls{0};
    std::thread thread{};
    Share share{};
  };
  struct Owner final {
    std::unique_ptr<Team> team{};
    unsigned forks = 0;

    ~Owner() {
      if (forks != Team::forks()) of_parent = team.release();
    }
  };

  inline static thread_local bool inside = false;  // a loop
  /// In a forked child the parent's helpers do not run: the child keeps the parent's team unused and never destroys it.
  inline static thread_local Team* of_parent = nullptr;

  /// Forks between the first process and this one.
  static unsigned forks() {
    static std::atomic<unsigned> count{0};
    static const int registered =
        pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });
    static_cast<void>(registered);
    return count.load(std::memory_order_relaxed);
  }

  bool add_helper() {
    auto helper = std::make_unique<Helper>();
    try {
      helper->thread =
          std::thread([this, calls = &helper->calls, share = helpers_.size() + 1] { help(*calls, share); });
    } catch (const std::system_error&) { return false; }  // out of threads: the existing ones do the work
    helpers_.push_back(std::move(helper));
    return true;
  }

  void call(std::size_t helpers) {
    for (std::size_t i = 0; i < helpers; ++i) {
      helpers_[i]->calls.fetch_add(1, std::memory_order_release);
      helpers_[i]->calls.notify_one();
    }
  }

  void help(const std::atomic<unsigned>& calls, std::size_t share) {
    const SingleThread libraries;
    for (unsigned seen = 0;;) {
      wait_while(calls, seen);
      seen = calls.load(std::memory_order_acquire);
      if (ending_.load(std::memory_order_relaxed)) return;
      // The loop that woke this helper may be over and the next one running: then it helps with that.
      unsigned gate = gate_.load(std::memory_order_relaxed);
      while ((gate & open) != 0 && !gate_.compare_exchange_weak(gate, gate + one_inside, std::memory_order_acq_rel)) {}
      if ((gate & open) == 0) continue;
      work(share);
      if (gate_.fetch_sub(one_inside, std::memory_order_acq_rel) == one_inside)
        gate_.notify_one();  // the last helper, while the owner waits
    }
  }

  /// Beginning with share `own`, one share after another.
  void work(std::size_t own) {
    inside = true;
    for (std::size_t i = 0; i < shares_; ++i) {
      const std::size_t share = (own + i) % shares_;
      Share& of = share == 0 ? own_ : helpers_[share - 1]->share;
      for (std::size_t chunk; (chunk = of.next.fetch_add(1, std::memory_order_relaxed)) < of.end;) {
        try {
          chunk_(body_, chunk);
        } catch (...) {
          const std::lock_guard lock(failing_);
          if (!failure_ || chunk < failed_) {
            failure_ = std::current_exception();
            failed_ = chunk;
          }
        }
      }
    }
    inside = false;
  }

  Chunk chunk_ = nullptr;
  const void* body_ = nullptr;
  std::size_t shares_ = 0, failed_ = 0;
  std::exception_ptr failure_{};
  std::mutex failing_{};
  std::vector<std::unique_ptr<Helper>> helpers_{};
  std::atomic<bool> ending_{false};
  Share own_{};
  alignas(64) std::atomic<unsigned> gate_{0};  // open + one_inside for every helper that takes chunks
};

/// The loop itself, which is the same for all bodies: each is compiled once.
[[gnu::noinline]] inline void for_all(std::size_t chunks, Team::Chunk chunk, const void* body) {
  const int count = chunks > 1 ? thread_count() : 1;
  if (count > 1)
    if (Team* const team = Team::here()) return team->run(chunks, count, chunk, body);
  for (std::size_t i = 0; i < chunks; ++i) chunk(body, i);
}
}  // namespace detail

/// body(0) ... body(chunks - 1), in any order, on as many threads as thread_count() says. Callers cut work into chunks
/// by shape alone, never by the number of threads, and no chunk reads what another writes. So results depend neither on
/// the number of threads nor on which thread took a chunk. Inside another parallel_for it is a serial loop.
///
/// failure  rethrows the exception of the lowest chunk that threw, after all others have run
template <class Body>
void parallel_for(std::size_t chunks, const Body& body) {
  detail::for_all(chunks, [](const void* what, std::size_t chunk) { (*static_cast<const Body*>(what))(chunk); }, &body);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
