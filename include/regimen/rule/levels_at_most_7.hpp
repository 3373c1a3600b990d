// regimen/rule/levels_at_most_7.hpp — lists of layers do not stand in each other without end.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Levels: lists of layers that stand one in the other; the model is the first, a Residual and a Repeat hold one more each.
/// docs/errors/levels_at_most_7.md
template <class Network, std::size_t Levels>
struct levels_at_most_7 {
  static constexpr bool holds = Levels <= 7;
  struct must_hold {
    static_assert(holds, "regimen: Residuals and Repeats stand in each other more than 6 deep; write the inner ones side by side");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
