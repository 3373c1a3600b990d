// regimen/rule/device_shares_weights.hpp — Inferences share weights that lie in memory of the host.
#pragma once

namespace regimen::rule {

/// Kernels of a GPU reach tensors of one allocation.   docs/errors/inference.md#device_shares_weights
template <class Device, bool shares>
struct device_shares_weights {
  static constexpr bool holds = shares;
  struct must_hold {
    static_assert(
        holds, "regimen: Inference::share shares memory of the host; load the file into one Inference for each thread");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
