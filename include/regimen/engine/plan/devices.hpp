// regimen/engine/plan/devices.hpp — the engines of the devices that the library has, as far as a plan needs to know them.
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
