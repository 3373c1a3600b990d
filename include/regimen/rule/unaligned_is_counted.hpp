// regimen/rule/unaligned_is_counted.hpp — a bound on unaligned rows is for a device that cares.
#pragma once

namespace regimen::rule {

/// On the CPU no plan counts rows, so the bound would hold whatever they are.
/// docs/errors/targets.md#unaligned_is_counted
template <class Target, class Device, bool counts>
struct unaligned_is_counted {
  static constexpr bool holds = counts;
  struct must_hold {
    static_assert(holds,
                  "regimen: rows are counted in plans for a GPU alone; take Unaligned<...> out, or write Device<Cuda>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
