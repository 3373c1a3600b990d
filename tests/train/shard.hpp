// tests/train/shard.hpp — the same training by ranks that are threads, under any policy.
#pragma once

#include "support/catch.hpp"
#include "train/ranks.hpp"

namespace regimen::test {

/// The outcome of rank 0, after all ranks were found to have the same.
template <class Train>
Outcome train_on(std::size_t ranks, bool poison = false, std::uint64_t steps = 20) {
  const std::vector<Outcome> outcomes = outcomes_of_threads<Train>(ranks, poison, steps);
  CHECK(outcomes[0].as_planned);
  for (std::size_t rank = 1; rank < ranks; ++rank) CHECK(outcomes[rank] == outcomes[0]);
  return outcomes[0];
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
