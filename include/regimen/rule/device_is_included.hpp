// regimen/rule/device_is_included.hpp — refuses devices whose engine this file does not include.
#pragma once

namespace regimen::rule {

/// A device's header brings its engine: regimen.hpp that of Cpu, regimen/engine/emulated/device.hpp that of Emulated,
/// regimen/engine/cuda/device.cuh, which nvcc compiles, that of Cuda.   docs/errors/options.md#device_is_included
template <class Device, bool included>
struct device_is_included {
  static constexpr bool holds = included;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this Device<...> has no engine here; include its header (regimen/engine/cuda/device.cuh for Cuda)");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
