// regimen/state/patience.hpp — the state of fit's evaluations, which is saved.
#pragma once

#include <cstdint>
#include <limits>

namespace regimen::train {

/// A step number that never occurs.
inline constexpr std::uint64_t never = (std::numeric_limits<std::uint64_t>::max)();

/// The best loss of an evaluation, the number of evaluations since, and the step of the last one.
struct Patience {
  double best = std::numeric_limits<double>::infinity();
  std::uint64_t without_gain = 0, validated_at = never;
  bool is_resumed = false, is_kept = false;  // whether a file was loaded since the last fit, and had patience
};

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
