// regimen/saves/patience.hpp — the state of fit's evaluations, which is saved.
#pragma once

#include <cstdint>
#include <limits>

namespace regimen::saves {

/// A step number that never occurs.
inline constexpr std::uint64_t never = (std::numeric_limits<std::uint64_t>::max)();

/// The best loss of an evaluation, the number of evaluations since, and the step of the last one.
struct Patience {
  double best = std::numeric_limits<double>::infinity();
  std::uint64_t without_gain = 0, validated_at = never;
  bool is_resumed = false;  // a file was loaded since the last fit, which goes on with these values
  bool is_kept = false;     // the last fit, or the file that was loaded, had patience: these values are saved
};

}  // namespace regimen::saves
// SPDX-License-Identifier: Apache-2.0
