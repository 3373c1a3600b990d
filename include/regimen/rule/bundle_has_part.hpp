// regimen/rule/bundle_has_part.hpp — Part<I> counts from 0.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Count: the values of the bundle.   docs/errors/branches.md#bundle_has_part
template <class Layer, class Input, std::size_t I, std::size_t Count>
struct bundle_has_part {
  static constexpr bool holds = I < Count;
  struct must_hold {
    static_assert(holds, "regimen: this Bundle has fewer values than Part<I> counts, from 0 on; write a smaller I");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
