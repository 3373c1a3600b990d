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

#include <initializer_list>
#include <type_traits>

namespace regimen::cuda {

/// The engine of a GPU; device.hpp defines it.
template <class Choices>
class GpuEngine;

/// The least architecture that kernels are compiled for, 800 for sm_80; 0: not known.
#if defined(REGIMEN_CUDA_COMPILED)
inline constexpr unsigned architecture = REGIMEN_CUDA_COMPILED;
#elif defined(__CUDA_ARCH_LIST__)
inline constexpr unsigned architecture = [] {
  unsigned least = ~0u;
  for (const unsigned each : {__CUDA_ARCH_LIST__}) least = each < least ? each : least;
  return least;
}();
#else
inline constexpr unsigned architecture = 0;
#endif

}  // namespace regimen::cuda

template <>
struct regimen::engines::Of<regimen::Cuda> {
  template <class Choices>
  struct with {
    using Traits = regimen::cuda::Traits<regimen::cuda::library_workspace, regimen::cuda::architecture, Choices,
                                         regimen::cuda::has_cudnn, regimen::cuda::has_nccl>;
    using type = std::conditional_t<regimen::cuda::runs_here, regimen::cuda::GpuEngine<Choices>, PlanOnly<Traits>>;
    using profiled =
        std::conditional_t<regimen::cuda::runs_here, regimen::TimedEngine<regimen::cuda::GpuEngine<Choices>>, type>;
  };
  using Traits = with<DefaultChoices>::Traits;
  using type = with<DefaultChoices>::type;
  using profiled = with<DefaultChoices>::profiled;
};
// SPDX-License-Identifier: Apache-2.0
