// regimen/rule/names_match_types.hpp — a table has a name for each type.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// A type without a name would read the column named "", which a table of pandas has.
/// docs/errors/data.md#names_match_types
template <std::size_t Names, class... Types>
struct names_match_types {
  static constexpr bool holds = Names == sizeof...(Types);
  struct must_hold {
    static_assert(holds,
                  "regimen: Csv and JsonLines read one name as each type; give as many names as types, in their order");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
