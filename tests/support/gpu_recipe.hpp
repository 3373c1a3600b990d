// tests/support/gpu_recipe.hpp — Device<Cuda> in any compiler, with cuDNN and NCCL or without, and a model for it.
#pragma once

#include <regimen/engine/cuda/plan.hpp>
#include "../support/model_recipe.hpp"

template <bool has_cudnn, bool has_nccl = true>
struct Gpu {
  using option_of = regimen::axis::device;
};
template <bool has_cudnn, bool has_nccl>
struct regimen::engines::Of<Gpu<has_cudnn, has_nccl>> {
  template <class Choices>
  struct with {
    using Traits = cuda::Traits<cuda::library_workspace, 0, Choices, has_cudnn, has_nccl>;
    using type = PlanOnly<Traits>;
  };
  using Traits = typename with<DefaultChoices>::Traits;
};
