// regimen/state/patience.hpp — what fit remembers of its evaluations, and what is saved of it.
#pragma once

#include <cstdint>
#include <limits>

namespace regimen::train {

/// A step number that never occurs.
inline constexpr std::uint64_t never = (std::numeric_limits<std::uint64_t>::max)();

/// The best loss of an evaluation, how many evaluations came since, and after which step the last one was.
struct Patience {
  double best = std::numeric_limits<double>::infinity();
  std::uint64_t without_gain = 0, validated_at = never;
  bool is_resumed = false, is_kept = false;  // was a file loaded since fit was called last, and did that fit have patience?
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
