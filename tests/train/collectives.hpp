// tests/train/collectives.hpp — the collectives of a measured run.
#pragma once

#include <regimen/engine/timed.hpp>

#include <vector>

namespace regimen::test {

inline std::vector<CollectiveTime> collectives_of(const OperationTimes& times, CollectiveTime::Kind kind,
                                                  op::Phase phase) {
  std::vector<CollectiveTime> found;
  for (const CollectiveTime& one : times.collectives())
    if (one.kind == kind && one.phase == phase) found.push_back(one);
  return found;
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
