// regimen/engine/cuda/plan.hpp — what a plan for Device<Cuda> needs: in any compiler, without a header of CUDA's.
//
//   using Train = Trainer<Gpt, Device<Cuda>, Target<targets::h100>, Batch<Largest>>;   // on a laptop
//   static_assert(Train::plan().fits(targets::h100{}));
#pragma once

#include <regimen/comm/control.hpp>
#include <regimen/engine/cuda/traits.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/engine/plan/devices.hpp>
#include <regimen/policy/device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace regimen::engines {

/// Stands for the engine of a device that a program plans for, but does not run on: Trainer<..., Device<Where>>::plan()
/// is a constant, and needs no engine; a Trainer that is constructed does not compile (rule/trainers.hpp). The members
/// exist so that this is the only error.
template <class Traits_>
struct PlanOnly final : EveryIteration {
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

namespace regimen::cuda {

/// The engine of a GPU; device.hpp defines it.
template <class Choices>
class GpuEngine;

/// The least architecture that kernels are compiled for, 800 for sm_80; 0: not known.
#if defined(REGIMEN_CUDA_COMPILED)
inline constexpr unsigned architecture = REGIMEN_CUDA_COMPILED;
#elif defined(__CUDA_ARCH_LIST__)
inline constexpr unsigned architecture = (std::min)({__CUDA_ARCH_LIST__});
#else
inline constexpr unsigned architecture = 0;
#endif

/// The facts and the engine of a GPU, for what policies choose.
template <class Choices>
struct GpuDevice {
  using Traits = cuda::Traits<library_workspace, architecture, Choices, has_cudnn, has_nccl>;
  using type = std::conditional_t<runs_here, GpuEngine<Choices>, engines::PlanOnly<Traits>>;
};

}  // namespace regimen::cuda

template <>
struct regimen::engines::Of<regimen::Cuda> : regimen::cuda::GpuDevice<regimen::engines::DefaultChoices> {
  template <class Choices>
  using with = regimen::cuda::GpuDevice<Choices>;
};
// SPDX-License-Identifier: Apache-2.0
