// regimen/engine/cuda/device.hpp — Device<Cuda> complete: its engine on a GPU, and the engine that measures. For files
// that nvcc compiles, with kernels of their own, and for files that any compiler compiles and that link
// regimen::cuda_compiled. In any other file Device<Cuda> only plans.
#pragma once

#include <regimen/engine/cuda/plan.hpp>
#if defined(REGIMEN_CUDA_COMPILED)
#include <regimen/engine/cuda/library.hpp>
#elif defined(__CUDACC__)
#include <regimen/engine/cuda/library.cuh>
#endif
#if defined(__CUDACC__) || defined(REGIMEN_CUDA_COMPILED)
#include <regimen/engine/cuda/engine.hpp>
#include <regimen/engine/timed.hpp>
#include <regimen/policy/device.hpp>

template <class Choices>
class regimen::cuda::GpuEngine final : public regimen::cuda::Engine<regimen::cuda::Library, Choices> {
 public:
  using GpuEngine::Engine::Engine;
};
static_assert(regimen::engines::Engine<regimen::engines::Of<regimen::Cuda>::type>);
#endif
// SPDX-License-Identifier: Apache-2.0
