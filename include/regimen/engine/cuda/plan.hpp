// regimen/engine/cuda/plan.hpp — what a plan for Device<Cuda> needs: in any compiler, without a header of CUDA's.
//
//   using Train = Trainer<Gpt, Device<Cuda>, Target<targets::h100>, Batch<Largest>>;   // on a laptop
//   static_assert(Train::plan().fits(targets::h100{}));
#pragma once

#include <regimen/engine/cuda/traits.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/engine/plan/devices.hpp>
#include <regimen/engine/plan/only.hpp>
#include <regimen/policy/device.hpp>

#include <algorithm>
#include <type_traits>

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
  using profiled = std::conditional_t<runs_here, TimedEngine<GpuEngine<Choices>>, type>;
};

}  // namespace regimen::cuda

template <>
struct regimen::engines::Of<regimen::Cuda> : regimen::cuda::GpuDevice<regimen::engines::DefaultChoices> {
  template <class Choices>
  using with = regimen::cuda::GpuDevice<Choices>;
};
// SPDX-License-Identifier: Apache-2.0
