// regimen/rule/device_runs_here.hpp — an object that trains has an engine, not only a plan.
#pragma once

namespace regimen::rule {

/// regimen/engine/cuda/plan.hpp has what Trainer<...>::plan() needs, in any compiler.
/// docs/errors/trainers.md#device_runs_here
template <class Device, bool runs>
struct device_runs_here {
  static constexpr bool holds = runs;
  struct must_hold {
    static_assert(
        holds,
        "regimen: this program only plans for this Device; include regimen/engine/cuda/device.cuh, compile with nvcc");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
