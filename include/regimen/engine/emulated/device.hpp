// regimen/engine/emulated/device.hpp — Device<Emulated>: the CUDA engine, whole, on a device that is emulated on the
// host.
#pragma once

#include <regimen/engine/cuda/engine.hpp>
#include <regimen/engine/emulated/runtime.hpp>
#include <regimen/engine/timed.hpp>
#include <regimen/policy/device.hpp>

template <>
struct regimen::engines::Of<regimen::Emulated> {
  template <class Choices>
  struct with {
    using type = regimen::cuda::Engine<regimen::emulated::Runtime, Choices>;
    using Traits = typename type::Traits;
  };
  using type = with<DefaultChoices>::type;
  using Traits = type::Traits;
};
static_assert(regimen::engines::Engine<regimen::cuda::Engine<regimen::emulated::Runtime>>);
// SPDX-License-Identifier: Apache-2.0
