// regimen/engine/cpu/engine.hpp — the engine of the CPU: computes at once, on the host.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/core/error.hpp>
#include <regimen/core/finite.hpp>
#include <regimen/engine/cpu/activation.hpp>
#include <regimen/engine/cpu/attention.hpp>
#include <regimen/engine/cpu/attention_bias.hpp>
#include <regimen/engine/cpu/attention_kept.hpp>
#include <regimen/engine/cpu/batch_norm.hpp>
#if REGIMEN_COMPILED
#include <regimen/engine/cpu/compiled.hpp>
#endif
#include <regimen/engine/cpu/convolution.hpp>
#include <regimen/engine/cpu/elementwise.hpp>
#include <regimen/engine/cpu/embedding.hpp>
#include <regimen/engine/cpu/group_norm.hpp>
#include <regimen/engine/cpu/hash.hpp>
#include <regimen/engine/cpu/image.hpp>
#include <regimen/engine/cpu/loss.hpp>
#include <regimen/engine/cpu/machine.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/norm.hpp>
#include <regimen/engine/cpu/nt_xent.hpp>
#include <regimen/engine/cpu/padding.hpp>
#include <regimen/engine/cpu/product.hpp>
#include <regimen/engine/cpu/recurrent.hpp>
#include <regimen/engine/cpu/reduce.hpp>
#include <regimen/engine/cpu/region.hpp>
#include <regimen/engine/cpu/rotary.hpp>
#include <regimen/engine/cpu/sinusoids.hpp>
#include <regimen/engine/cpu/softmax.hpp>
#include <regimen/engine/cpu/step.hpp>
#include <regimen/engine/cpu/traits.hpp>
#include <regimen/engine/cpu/unfold.hpp>
#include <regimen/engine/cpu/update.hpp>
#include <regimen/engine/cpu/update_tensor.hpp>
#include <regimen/engine/cpu/windows.hpp>
#include <regimen/engine/engine.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

namespace regimen::cpu {

/// Executes each operation during its call. The arena has exactly the bytes of the plan; to use
/// one byte more ends the program.
class Engine : public engine::EveryIteration {
 public:
  using Traits = cpu::Traits;
  using Ranks = comm::TensorCollectives;
  struct Fence {
    void wait() const {}
  };

  op::Phase phase = op::Phase::forward;

  explicit Engine(const engine::Resources<Ranks>& resources)
      : threads_(threads_for(resources.threads)),
        ranks_(resources.ranks),
        region_(std::make_shared<const Region>(resources.bytes)),
        memory_{region_->base(), region_->bytes()} {
#if REGIMEN_COMPILED
    check_kernels(kernel_flags);
#endif
  }
  /// Borrows the memory of `lender`, or what that has borrowed, which lives as long.
  Engine(const engine::Resources<Ranks>& resources, const Engine& lender) : Engine(resources) {
    lent_ = lender.lent_ ? lender.lent_ : lender.region_;
    memory_.lent = lent_->base();
    memory_.lent_bytes = lent_->bytes();
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  template <class Operation>
  void run(const Operation& operation, std::size_t scratch = View<char>::absent) {
    ++operations_;
    memory_.scratch = scratch;
    compute(operation, memory_);
  }

  // ---- collectives

  std::size_t all_gather(const engine::Transfer& transfer) {
    const std::byte* const own = memory_.base + transfer.own;
    std::byte* const all = memory_.base + transfer.all;
    return transfer.small ? ranks_->start_all_gather_small(own, all, transfer.bytes)
                          : ranks_->start_all_gather(own, all, transfer.bytes, transfer.teams);
  }
  std::size_t reduce_scatter(const engine::Transfer& transfer) {
    return ranks_->start_reduce_scatter(
        transfer.element, memory_.base + transfer.all, transfer.count(),
        transfer.staging == View<char>::absent ? nullptr : memory_.base + transfer.staging, transfer.teams);
  }
  void await(std::size_t ticket) { ranks_->await(ticket); }

  // ---- the host

  Fence upload(std::size_t at, std::span<const std::byte> from) {
    if (!from.empty()) std::memcpy(memory_(View<std::byte>{at}), from.data(), from.size());
    return {};
  }
  Fence download(std::size_t at, std::span<std::byte> to) const {
    if (!to.empty()) std::memcpy(to.data(), memory_(View<std::byte>{at}), to.size());
    return {};
  }
  std::uint64_t hash(std::size_t at, std::size_t bytes) const { return hash_of_bytes({memory_.base + at, bytes}); }
  template <class T>
  T* data(View<T> view) const {
    return memory_(view);
  }
  template <class Write>
  void feed(std::size_t /*slot*/, std::size_t at, std::size_t bytes, const Write& write) {
    write(std::span(memory_.base + at, bytes));
  }
  void replay(const engine::Recording&, auto&& body) { body(); }

  void poison_dead() {}
  void dies(std::size_t offset, std::size_t bytes) const { region_->dies(offset, bytes); }
  void lives(std::size_t offset, std::size_t bytes) const { region_->lives(offset, bytes); }

  std::size_t operations() const { return operations_; }
  ThreadScope scope() const { return ThreadScope(threads_); }
  /// What decides the bits of a run, besides the program.
  template <class Compute>
  static std::string numerics() {
    return path_text<Compute>();
  }
  /// The same with details that do not decide the bits, for people.
  template <class Compute>
  std::string description() const {
    return path_text<Compute>() + "; threads: " + std::to_string(threads_);
  }

 private:
  int threads_;
  Ranks* ranks_;
  std::shared_ptr<const Region> region_, lent_{};
  Memory memory_;
  std::size_t operations_ = 0;
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
