// regimen/rule/levels_at_most_7.hpp — lists of layers nest at most 7 deep.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Levels: how deep lists of layers nest; the model is the first level, and each Residual, Fork or Repeat adds one.
/// docs/errors/layers.md#levels_at_most_7
template <class Network, std::size_t Levels>
struct levels_at_most_7 {
  static constexpr bool holds = Levels <= 7;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Residuals, Forks and Repeats stand in each other more than 6 deep; write the inner ones side by side");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
