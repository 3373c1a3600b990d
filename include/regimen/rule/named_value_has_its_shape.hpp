// regimen/rule/named_value_has_its_shape.hpp — Keep keeps what its name declares.
#pragma once

#include <type_traits>

namespace regimen::rule {

/// docs/errors/branches.md#named_value_has_its_shape
template <class Keep, class Found, class Declared>
struct named_value_has_its_shape {
  static constexpr bool holds = std::is_same_v<Found, Declared>;
  struct must_hold {
    static_assert(holds, "regimen: Keep<Name> keeps a value of another shape than Name declares; declare the value's");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
