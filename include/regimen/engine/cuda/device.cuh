// regimen/engine/cuda/device.cuh — Device<Cuda> complete: its engine on a GPU, and the engine that measures.
#pragma once

#include <regimen/engine/cuda/engine.hpp>
#include <regimen/engine/cuda/library.cuh>
#include <regimen/engine/timed.hpp>
#include <regimen/policy/device.hpp>

template <>
struct regimen::engine::Of<regimen::Cuda> {
  using type = regimen::cuda::Engine<regimen::cuda::Library>;
  using Traits = type::Traits;
  using profiled = regimen::Timed<type>;
};
static_assert(regimen::engine::Engine<regimen::cuda::Engine<regimen::cuda::Library>>);
// SPDX-License-Identifier: Apache-2.0
