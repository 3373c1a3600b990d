// regimen/comm/ranks_of.hpp — makes a communicator the Trainer's Ranks: its collectives overlap with compute.
#pragma once

#include <regimen/comm/background.hpp>
#include <regimen/comm/control.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace regimen::comm {

/// Both interfaces of one communicator, so that control calls and tensor collectives keep one order.
class Ranks : public Control, public TensorCollectives {};

/// Borrows the communicator, which nobody else may use meanwhile. If it declares `waits_at_start`, each collective is
/// awaited when it is started.
template <Collectives C>
class RanksOf final : public Ranks {
 public:
  explicit RanksOf(C& communicator) : communicator_(communicator), behind_(communicator) {}

  std::size_t rank() const override { return behind_.rank(); }
  std::size_t size() const override { return behind_.size(); }

  void all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) override {
    behind_.all_gather_small(own, all, bytes).wait();
  }
  void all_gather(const std::byte* own, std::byte* all, std::size_t bytes, Teams teams) override {
    behind_.all_gather(own, all, bytes, teams).wait();
  }
  void leave(std::string_view reason) override {
    behind_.leave(reason);
    try {
      behind_.wait_for_all();
    } catch (...) {  // the communicator has left
    }
  }

  std::string gone() override {
    if constexpr (requires { communicator_.gone(); }) return communicator_.gone();
    else return {};
  }
  Deadline deadline() const override {
    if constexpr (requires { communicator_.deadline(); }) return communicator_.deadline();
    else return default_deadline;
  }

  bool waits_at_start() const override {
    return requires { requires C::waits_at_start; };
  }

  std::size_t start_all_gather(const std::byte* own, std::byte* all, std::size_t bytes, Teams teams) override {
    return ticket_of(behind_.all_gather(own, all, bytes, teams));
  }
  std::size_t start_all_gather_small(const std::byte* own, std::byte* all, std::size_t bytes) override {
    return ticket_of(behind_.all_gather_small(own, all, bytes));
  }
  std::size_t start_reduce_scatter(ElementType element, std::byte* all, std::size_t count, std::byte* staging,
                                   Teams teams) override {
    return with_element(element, [&]<class T>(T) {
      T* const whole = reinterpret_cast<T*>(all);
      return ticket_of(behind_.reduce_scatter(static_cast<const T*>(whole), whole + teams.place(behind_.rank()) * count,
                                              count, staging, teams));
    });
  }
  void await(std::size_t ticket) override { behind_.wait(ticket); }

 private:
  std::size_t ticket_of(const PendingCollective& pending) const {
    if (waits_at_start()) pending.wait();
    return static_cast<std::size_t>(pending.ticket);
  }

  C& communicator_;
  Background<C> behind_;
};

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
