// regimen/rule/residual_keeps_shape.hpp — the layers of a Residual keep the shape of its input.
#pragma once

#include <type_traits>

namespace regimen::rule {

/// x + f(x) exists only where f keeps the shape.   docs/errors/shapes.md#residual_keeps_shape
template <class In, class Out>
struct residual_keeps_shape {
  static constexpr bool holds = std::is_same_v<In, Out>;
  struct must_hold {
    static_assert(holds,
                  "regimen: Residual<...> adds its input to its output; end it with the shape that it begins with");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
