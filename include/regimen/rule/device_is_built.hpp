// regimen/rule/device_is_built.hpp — refuses devices whose engine is declared, but not built.
#pragma once

#include <regimen/policy/device.hpp>

#include <type_traits>

namespace regimen::rule {

/// The name is reserved; to run on the CPU instead would be misleading.   docs/errors/device_is_built.md
template <class Device>
struct device_is_built {
  static constexpr bool holds = !std::is_same_v<typename Device::where, Cuda>;
  struct must_hold {
    static_assert(holds, "regimen: the engine of Device<Cuda> is not built yet; write Device<Cpu>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
