// tests/support/deferred.hpp — an engine that is nothing like the CPU engine but in its arithmetic: what a Trainer must
// not rely on, fails here.
//
// Its memory is out of the host's reach but inside its operations and copies. It carries out what was run when somebody
// waits, not before; collectives are a queue of their own, and the two go on in any order that tickets allow. What is
// replayed is what was recorded the first time, to the last number.
#pragma once

#include <regimen/engine/cpu/device.hpp>
#include <regimen/engine/cpu/region.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace regimen::test {

class DeferredEngine : public engines::EveryIteration {
 public:
  struct Traits : cpu::Traits {
    static constexpr bool is_host_memory = false;
  };
  using Ranks = comm::TensorCollectives;
  struct Fence {
    DeferredEngine* engine = nullptr;
    std::size_t until = 0;
    void wait() const {
      if (engine != nullptr) engine->carry_out(until);
    }
  };

  /// Of the orders in which engines made from now on work.
  static inline std::atomic<unsigned> order = 1;

  /// Recordings that were carried out again, and the most that was ever queued.
  static inline std::atomic<std::size_t> replayed = 0, late = 0;

  op::Phase phase = op::Phase::forward;

  explicit DeferredEngine(const engines::Resources<Ranks>& resources)
      : threads_(cpu::threads_for(resources.threads)),
        ranks_(resources.ranks),
        region_(resources.bytes),
        memory_{region_.base(), region_.bytes()},
        random_(order++) {
    protect(PROT_NONE);
  }
  DeferredEngine(const DeferredEngine&) = delete;
  DeferredEngine& operator=(const DeferredEngine&) = delete;
  ~DeferredEngine() { protect(PROT_READ | PROT_WRITE); }

  template <class Operation>
  void run(const Operation& operation, std::size_t scratch = View<char>::absent) {
    push({.body =
              [this, operation, scratch] {
                ++operations_;
                cpu::Memory memory = memory_;
                memory.scratch = scratch;
                cpu::execute(operation, memory);
              },
          .waits_for = none,
          .is_transfer = false});
  }

  std::size_t all_gather(const engines::Transfer& transfer) {
    return send([this, transfer] {
      const std::byte* const own = memory_.base + transfer.own;
      std::byte* const all = memory_.base + transfer.all;
      ranks_->await(transfer.small ? ranks_->start_all_gather_small(own, all, transfer.bytes)
                                   : ranks_->start_all_gather(own, all, transfer.bytes, transfer.teams));
    });
  }
  std::size_t reduce_scatter(const engines::Transfer& transfer) {
    return send([this, transfer] {
      std::byte* const staging = transfer.staging == View<char>::absent ? nullptr : memory_.base + transfer.staging;
      ranks_->await(ranks_->start_reduce_scatter(transfer.element, memory_.base + transfer.all, transfer.count(),
                                                 staging, transfer.teams));
    });
  }
  void await(std::size_t ticket) {
    push({.body = [] {}, .waits_for = ticket, .is_transfer = false});
  }

  Fence upload(std::size_t at, std::span<const std::byte> from) {
    push({.body = [this, at, from] { std::copy(from.begin(), from.end(), memory_.base + at); },
          .waits_for = none,
          .is_transfer = false});
    return {this, operations_run_};
  }
  Fence download(std::size_t at, std::span<std::byte> to) {
    push({.body = [this, at, to] { std::copy_n(memory_.base + at, to.size(), to.begin()); },
          .waits_for = none,
          .is_transfer = false});
    return {this, operations_run_};
  }
  template <class Write>
  void feed(std::size_t /*slot*/, std::size_t at, std::size_t bytes, const Write& write) {
    std::vector<std::byte> from(bytes);
    write(std::span(from));
    push({.body = [this, at, from] { std::copy(from.begin(), from.end(), memory_.base + at); },
          .waits_for = none,
          .is_transfer = false});
  }
  std::uint64_t hash(std::size_t at, std::size_t bytes) {
    std::uint64_t found = 0;
    push({.body = [&, this] { found = cpu::hash_of_bytes({memory_.base + at, bytes}); },
          .waits_for = none,
          .is_transfer = false});
    carry_out(operations_run_);
    return found;
  }

  void replay(const engines::Recording& key, auto&& body) {
    const auto name = std::pair{key.piece, key.rows};
    if (const auto found = recorded_.find(name); found != recorded_.end()) {
      ++replayed;
      const std::size_t first = transfers_run_;
      for (Work work : found->second) {
        if (work.waits_for != none) work.waits_for += first;
        push(work);
      }
      return;
    }
    std::vector<Work> recording;
    recording_ = &recording;
    first_recorded_ = transfers_run_;
    try {
      body();
    } catch (...) {
      recording_ = nullptr;
      throw;
    }
    recording_ = nullptr;
    recorded_.emplace(name, std::move(recording));
  }

  void poison_dead() {}
  void dies(std::size_t offset, std::size_t bytes) {
    push({.body = [=, this] { region_.dies(offset, bytes); }, .waits_for = none, .is_transfer = false});
  }
  void lives(std::size_t offset, std::size_t bytes) {
    push({.body = [=, this] { region_.lives(offset, bytes); }, .waits_for = none, .is_transfer = false});
  }

  std::size_t operations() const { return operations_; }
  cpu::ThreadScope scope() const { return cpu::ThreadScope(threads_); }
  template <class Compute>
  static std::string numerics() {
    return cpu::path_text<Compute>();
  }
  template <class Compute>
  std::string description() const {
    return numerics<Compute>() + ", deferred";
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct Work {
    std::function<void()> body;
    std::size_t waits_for = none;  // a transfer, by its number
    bool is_transfer = false;
    std::size_t after = 0;  // of a transfer: how much of the other queue must have been carried out
  };

  std::size_t send(std::function<void()> body) {
    push({.body = std::move(body), .waits_for = none, .is_transfer = true});
    return transfers_run_ - 1;
  }
  void push(Work work) {
    if (recording_ != nullptr) {
      recording_->push_back(work);
      if (work.waits_for != none) recording_->back().waits_for -= first_recorded_;
    }
    if (work.is_transfer) {
      work.after = operations_run_;
      transfers_.push_back(std::move(work));
      ++transfers_run_;
    } else {
      computes_.push_back(std::move(work));
      ++operations_run_;
    }
    late = (std::max)(late.load(), computes_.size());
  }

  /// Until so much of the queue of operations is done, and as much of the other as it needs or chance wants.
  void carry_out(std::size_t until) {
    try {
      while (operations_done_ < until) {
        const bool may_compute = computes_.front().waits_for == none || computes_.front().waits_for < transfers_done_;
        const bool may_transfer = !transfers_.empty() && transfers_.front().after <= operations_done_;
        if (!may_compute && !may_transfer) throw std::logic_error("Deferred: a ticket is awaited that nobody started");
        const bool transfers = may_transfer && (!may_compute || random_() % 2 == 0);
        std::deque<Work>& queue = transfers ? transfers_ : computes_;
        const Work work = std::move(queue.front());
        queue.pop_front();
        protect(PROT_READ | PROT_WRITE);
        work.body();
        protect(PROT_NONE);
        ++(transfers ? transfers_done_ : operations_done_);
      }
    } catch (...) {  // nothing of what waits is carried out any more
      protect(PROT_NONE);
      computes_.clear();
      transfers_.clear();
      operations_done_ = operations_run_;
      transfers_done_ = transfers_run_;
      throw;
    }
  }

  void protect(int how) const {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)),
               begin = reinterpret_cast<std::uintptr_t>(region_.base());
    const std::uintptr_t first = begin / page * page;
    if (region_.bytes() > 0 && mprotect(reinterpret_cast<void*>(first), begin - first + region_.bytes(), how) != 0)
      std::abort();
  }

  int threads_;
  Ranks* ranks_;
  cpu::Region region_;
  cpu::Memory memory_;
  std::mt19937 random_;
  std::deque<Work> computes_, transfers_;
  std::size_t operations_run_ = 0, operations_done_ = 0, transfers_run_ = 0, transfers_done_ = 0, operations_ = 0;
  std::map<std::pair<engines::Recording::Piece, std::size_t>, std::vector<Work>> recorded_;
  std::vector<Work>* recording_ = nullptr;
  std::size_t first_recorded_ = 0;
};

/// Device<Deferred>
struct Deferred final {
  using option_of = axis::device;
};

}  // namespace regimen::test

template <>
struct regimen::engines::Of<regimen::test::Deferred> {
  using Traits = regimen::test::DeferredEngine::Traits;
  using type = regimen::test::DeferredEngine;
};
static_assert(regimen::engines::Engine<regimen::test::DeferredEngine> &&
              regimen::engines::Engine<regimen::cpu::Engine>);
// SPDX-License-Identifier: Apache-2.0
