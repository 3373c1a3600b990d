// regimen/engine/cuda/device.cuh — Device<Cuda> complete: its engine on a GPU, and the engine that measures.
#pragma once

#include <regimen/engine/cuda/engine.hpp>
#include <regimen/engine/cuda/library.cuh>
#include <regimen/engine/cuda/plan.hpp>
#include <regimen/engine/timed.hpp>
#include <regimen/policy/device.hpp>

template <class Choices>
class regimen::cuda::GpuEngine final : public regimen::cuda::Engine<regimen::cuda::Library, Choices> {
 public:
  using GpuEngine::Engine::Engine;
};
static_assert(regimen::engines::Engine<regimen::engines::Of<regimen::Cuda>::type>);
// SPDX-License-Identifier: Apache-2.0
