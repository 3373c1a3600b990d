// regimen/engine/plan/devices.hpp — the library's devices and their engines' Traits, for plans.
#pragma once

#include <regimen/engine/cpu/traits.hpp>
#include <regimen/engine/engine.hpp>
#include <regimen/policy/device.hpp>

namespace regimen {

namespace cpu {
class Engine;
}
template <>
struct engine::Of<Cpu> {
  using Traits = cpu::Traits;
  using type = cpu::Engine;
  using profiled = Timed<cpu::Engine>;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
