// regimen/rule/repeat_keeps_shape.hpp — a repeated block keeps the shape of its input.
#pragma once

#include <type_traits>

namespace regimen::rule {

/// The output of one iteration is the input of the next.   docs/errors/shapes.md#repeat_keeps_shape
template <class In, class Out>
struct repeat_keeps_shape {
  static constexpr bool holds = std::is_same_v<In, Out>;
  struct must_hold {
    static_assert(
        holds, "regimen: Repeat<N, Block> feeds each block to the next; end Block with the shape that it begins with");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
