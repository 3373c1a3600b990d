// regimen/rule/branches_keep_shape.hpp — branches that are joined element by element have outputs of one shape.
#pragma once

#include <type_traits>

namespace regimen::rule {

/// a + b and a · b exist only where all have one shape.   docs/errors/branches.md#branches_keep_shape
template <class Join, class First, class Other>
struct branches_keep_shape {
  static constexpr bool holds = std::is_same_v<First, Other>;
  struct must_hold {
    static_assert(holds,
                  "regimen: a Fork that adds or multiplies joins outputs of one shape; end all branches with the same");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
