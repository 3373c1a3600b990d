// regimen/rule/target_has_rates.hpp — predicted times need a target that states its speed.
#pragma once

#include <regimen/policy/target.hpp>

namespace regimen::rule {

/// targets::host, and a TPU in fp32, state no peak: there is no roofline.   docs/errors/targets.md#target_has_rates
template <class Target, class Compute>
struct target_has_rates {
  static constexpr bool holds = TargetWithRates<Target, Compute>;
  struct must_hold {
    static_assert(holds,
                  "regimen: this target states no bandwidth, or no peak in this element type; ask seconds of another");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
