// regimen/rule/shared_layers_agree.hpp — all Shared of one name are the same layers.
#pragma once

#include <type_traits>

namespace regimen::rule {

/// The name stands for one set of weights.   docs/errors/weights.md#shared_layers_agree
template <class Name, class First, class Other>
struct shared_layers_agree {
  static constexpr bool holds = std::is_same_v<First, Other>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: all Shared<Name, ...> of one name are the same layers; write the list once, as an alias, or another Name");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
