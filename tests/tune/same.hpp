// tests/tune/same.hpp — whether two searches found the same, bit for bit.
#pragma once

#include <regimen/tune/record.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace regimen::test {

inline bool same(const tune::Found& a, const tune::Found& b) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };  // a NaN is itself
  bool all = a.trials.size() == b.trials.size();
  for (std::size_t i = 0; all && i < a.trials.size(); ++i) {
    const tune::Trained &one = a.trials[i], &other = b.trials[i];
    all = one.values == other.values && one.failure == other.failure && one.rungs.size() == other.rungs.size();
    for (std::size_t r = 0; all && r < one.rungs.size(); ++r)
      all = one.rungs[r].steps == other.rungs[r].steps && bits(one.rungs[r].loss) == bits(other.rungs[r].loss) &&
            bits(one.rungs[r].accuracy) == bits(other.rungs[r].accuracy);
  }
  return all;
}

}  // namespace regimen::test
// SPDX-License-Identifier: Apache-2.0
