// regimen/rule/something_trains.hpp — at least one parameter trains.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Trained: parameters that have a gradient.   docs/errors/weights.md#something_trains
template <class Network, std::size_t Trained>
struct something_trains {
  static constexpr bool holds = (Trained > 0);
  struct must_hold {
    static_assert(
        holds,
        "regimen: no parameter of this model trains; add a layer with weights, freeze fewer layers, or write Inference<...>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
