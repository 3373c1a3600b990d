// regimen/rule/device_takes_ranks.hpp — several ranks need a device with collectives.
#pragma once

#include <regimen/policy/communicator.hpp>

#include <type_traits>

namespace regimen::rule {

/// The ranks' sums would never be exchanged.   docs/errors/device_takes_ranks.md
template <class Device, class Communicator, bool takes_ranks>
struct device_takes_ranks {
  static constexpr bool holds = takes_ranks || std::is_same_v<typename Communicator::ranks, Solo>;
  struct must_hold {
    static_assert(holds,
                  "regimen: this Device<...> has no collectives yet; train one rank on it, or write Device<Cpu>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
