// regimen/kernel/library_random.hpp — where the random numbers of a library begin.
#pragma once

#include <regimen/core/philox.hpp>
#include <regimen/kernel/block.hpp>

#include <cstdint>

namespace regimen::kernel {

/// to[0], to[1] = seed and offset of a library's own random numbers, for one call: a hash of the seed, the step, the
/// layer and the first sample; 0. So a recomputed layer and its backward draw the same numbers, and a recorded graph
/// others in each step.
struct LibraryRandom final {
  op::Drop drop;
  View<std::int64_t> to;
};

REGIMEN_HD inline void decide(const LibraryRandom& o, const Memory& at) {
  const op::Random random = *at(o.drop.random);
  const std::uint64_t hash =
      Philox::mix(Philox::mix(Philox::mix(random.seed, random.step), o.drop.stream), random.first_sample);
  at(o.to)[0] = static_cast<std::int64_t>(hash >> 1);  // not negative
  at(o.to)[1] = 0;
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
