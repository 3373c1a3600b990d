// regimen/engine/plan/only.hpp — stands for the engine of a device that a program plans for, but does not run on.
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/engine/engine.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace regimen::engines {

/// Trainer<..., Device<Where>>::plan() is a constant, and needs no engine; a Trainer that is constructed does not
/// compile (rule/trainers.hpp). The members exist so that this is the only error.
template <class Traits_>
class PlanOnly final : public EveryIteration {
 public:
  using Traits = Traits_;
  using Ranks = comm::TensorCollectives;
  struct Fence {
    void wait() const {}
  };
  struct Scope {};
  static constexpr bool only_plans = true;

  op::Phase phase = op::Phase::forward;

  explicit PlanOnly(const Resources<Ranks>&) {}

  template <class Operation>
  void run(const Operation&, std::size_t = View<char>::absent) {}
  static std::size_t all_gather(const Transfer&) { return 0; }
  static std::size_t reduce_scatter(const Transfer&) { return 0; }
  static void await(std::size_t) {}
  static std::size_t offload(const HostCopy&) { return 0; }
  static std::size_t fetch(const HostCopy&) { return 0; }
  static void await_copy(std::size_t) {}
  static Fence upload(std::size_t, std::span<const std::byte>) { return {}; }
  static Fence download(std::size_t, std::span<std::byte>) { return {}; }
  static std::uint64_t hash(std::size_t, std::size_t) { return 0; }
  static void feed(std::size_t, std::size_t, std::size_t, const auto&) {}
  static void replay(const Recording&, auto&& body) { body(); }
  static void poison_dead() {}
  static void dies(std::size_t, std::size_t) {}
  static void lives(std::size_t, std::size_t) {}
  static std::size_t operations() { return 0; }
  static Scope scope() { return {}; }
  template <class Compute>
  static std::string numerics() {
    return {};
  }
  template <class Compute>
  static std::string description() {
    return {};
  }
};

}  // namespace regimen::engines
// SPDX-License-Identifier: Apache-2.0
