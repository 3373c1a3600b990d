// regimen/engine/cpu/peers_of.hpp — a communicator as an engine's peers: its collectives run while the engine computes.
#pragma once

#include <regimen/comm/background.hpp>
#include <regimen/engine/cpu/peers.hpp>

#include <cstddef>
#include <string_view>

namespace regimen::cpu {

/// Borrows the communicator, which serves nobody else meanwhile. One that says `waits_at_start` is waited for at once.
template <comm::Collectives C>
class PeersOf final : public Peers {
 public:
  explicit PeersOf(C& communicator) : behind_(communicator) {}

  std::size_t rank() const override { return behind_.rank(); }
  std::size_t size() const override { return behind_.size(); }

  std::size_t start_gather(const std::byte* own, std::byte* all, std::size_t bytes, comm::Teams teams) override {
    return ticket_of(behind_.all_gather(own, all, bytes, teams));
  }
  std::size_t start_reduce(ElementType element, std::byte* all, std::size_t count, std::byte* staging, comm::Teams teams) override {
    switch (element) {
      case ElementType::float64:
        return reduce<fp64>(all, count, staging, teams);
      case ElementType::float32:
        return reduce<fp32>(all, count, staging, teams);
      case ElementType::bfloat16:
        return reduce<bf16>(all, count, staging, teams);
      case ElementType::float16:
        return reduce<fp16>(all, count, staging, teams);
    }
    return 0;
  }
  void await(std::size_t ticket) override { behind_.wait(ticket); }
  void gather_small(const std::byte* own, std::byte* all, std::size_t bytes) override { behind_.all_gather_small(own, all, bytes).wait(); }
  void leave(std::string_view reason) override {
    behind_.leave(reason);
    try {
      behind_.wait_for_all();
    } catch (...) {  // it was told to end
    }
  }

 private:
  static std::size_t ticket_of(const Pending& pending) {
    if constexpr (requires { requires C::waits_at_start; }) pending.wait();
    return static_cast<std::size_t>(pending.ticket);
  }
  template <class T>
  std::size_t reduce(std::byte* all, std::size_t count, std::byte* staging, comm::Teams teams) {
    T* const whole = reinterpret_cast<T*>(all);
    return ticket_of(behind_.reduce_scatter(static_cast<const T*>(whole), whole + teams.place(behind_.rank()) * count, count, staging, teams));
  }

  comm::Background<C> behind_;
};

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
