// regimen/rule/layers_one_to_255.hpp — a list has 1 to 255 layers.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Count: the layers of List, with those of nested sequences and composites; of a Fork, 0 if a branch has none.
///   docs/errors/layers.md#layers_one_to_255
template <class List, std::size_t Count>
struct layers_one_to_255 {
  static constexpr bool holds = Count >= 1 && Count <= 255;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Model, Residual, Fork and Repeat hold 1 to 255 layers; write at least one, or write equal ones as Repeat");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
