// regimen/engine/cpu/engine.hpp — the engine of the CPU: computes at once, on the host.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/core/flags.hpp>
#if REGIMEN_COMPILED
#include <regimen/engine/cpu/step.hpp>
#else
#include <regimen/engine/cpu/kernels.hpp>
#endif
#include <regimen/engine/cpu/execute.hpp>
#include <regimen/engine/cpu/flags.hpp>
#include <regimen/engine/cpu/machine.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/traits.hpp>
#include <regimen/engine/engine.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace regimen::cpu {

class Region;

/// What decides the bits of a run, besides the program: the path of products, the width of registers, whether there are
/// fused multiply-adds. The number of threads does not.
template <class Compute>
std::string path_text();

/// Executes each operation during its call. The arena has exactly the bytes of the plan; to use
/// one byte more ends the program.
class Engine : public engines::EveryIteration {
 public:
  using Traits = cpu::Traits;
  using Ranks = comm::TensorCollectives;
  struct Fence {
    void wait() const {}
  };

  op::Phase phase = op::Phase::forward;

  explicit Engine(const engines::Resources<Ranks>& resources) : Engine(resources, nullptr) { expect_same_flags(); }
  /// Borrows the memory of `lender`, or what that has borrowed, which lives as long.
  Engine(const engines::Resources<Ranks>& resources, const Engine& lender) : Engine(resources, &lender) {
    expect_same_flags();
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  template <class Operation>
  void run(const Operation& operation, std::size_t scratch = View<char>::absent) {
    ++operations_;
    memory_.scratch = scratch;
    execute(operation, memory_);
  }

  // ---- collectives

  std::size_t all_gather(const engines::Transfer& transfer);
  std::size_t reduce_scatter(const engines::Transfer& transfer);
  void await(std::size_t ticket) { ranks_->await(ticket); }

  // ---- the host

  Fence upload(std::size_t at, std::span<const std::byte> from);
  Fence download(std::size_t at, std::span<std::byte> to) const;
  std::uint64_t hash(std::size_t at, std::size_t bytes) const;
  template <class T>
  T* data(View<T> view) const {
    return memory_(view);
  }
  template <class Write>
  void feed(std::size_t /*slot*/, std::size_t at, std::size_t bytes, const Write& write) {
    write(std::span(memory_.base + at, bytes));
  }
  void replay(const engines::Recording&, auto&& body) { body(); }

  void poison_dead() {}
  void dies(std::size_t offset, std::size_t bytes) const;
  void lives(std::size_t offset, std::size_t bytes) const;

  std::size_t operations() const { return operations_; }
  ThreadScope scope() const { return ThreadScope(threads_); }
  /// What decides the bits of a run, besides the program.
  template <class Compute>
  static std::string numerics() {
    return path_text<Compute>();
  }
  /// numerics(), and details that do not decide the bits, for people.
  template <class Compute>
  std::string description() const {
    return path_text<Compute>() + "; threads: " + std::to_string(threads_);
  }

 private:
  Engine(const engines::Resources<Ranks>& resources, const Engine* lender);
  static void expect_same_flags() {
    regimen::detail::expect_same_flags(regimen::detail::host_flags_of_files);
    regimen::detail::expect_same_flags(kernel_flags_of_files);
  }

  int threads_;
  Ranks* ranks_;
  std::shared_ptr<const Region> region_, lent_;
  Memory memory_;
  std::size_t operations_ = 0;
};

}  // namespace regimen::cpu

#if !REGIMEN_COMPILED
#include <regimen/engine/cpu/engine.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
