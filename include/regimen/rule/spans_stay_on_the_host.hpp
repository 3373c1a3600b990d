// regimen/rule/spans_stay_on_the_host.hpp — an update rule that computes on spans needs Device<Cpu>.
#pragma once

namespace regimen::rule {

/// Its update_tensor is code of the host, and no GPU has it. Written by operations, it runs on every device
/// (policy/optimizer.hpp).   docs/errors/devices.md#spans_stay_on_the_host
template <class UpdateRule, class Device, bool ByOperations>
struct spans_stay_on_the_host {
  static constexpr bool holds = ByOperations;
  struct must_hold {
    static_assert(
        holds,
        "regimen: update_tensor computes on spans of the host; write it by operations, on TensorViews, or Device<Cpu>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
