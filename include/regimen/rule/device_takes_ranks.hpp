// regimen/rule/device_takes_ranks.hpp — the ranks' communicator reaches the device's memory.
#pragma once

#include <regimen/policy/communicator.hpp>

#include <type_traits>

namespace regimen::rule {

/// A communicator of hosts does not read a GPU's memory.   docs/errors/ranks.md#device_takes_ranks
template <class Device, class Communicator, bool takes_ranks>
struct device_takes_ranks {
  static constexpr bool holds =
      takes_ranks || std::is_same_v<typename Communicator::ranks, Solo> || connects_gpus<typename Communicator::ranks>;
  struct must_hold {
    static_assert(holds,
                  "regimen: this communicator does not reach the memory of this device; write Communicator<Nccl>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
