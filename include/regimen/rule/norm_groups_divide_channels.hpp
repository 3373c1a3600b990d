// regimen/rule/norm_groups_divide_channels.hpp — groups are equal slices of the channels.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// GroupNorm cuts the channels of Input, a shape, into Groups equal groups.
/// docs/errors/norms.md#norm_groups_divide_channels
template <class Layer, std::size_t Groups, class Input>
struct norm_groups_divide_channels {
  static constexpr bool holds = Groups >= 1 && Input::columns % (Groups >= 1 ? Groups : 1) == 0;
  struct must_hold {
    static_assert(holds,
                  "regimen: GroupNorm<N> cuts the channels into N equal groups; write an N that divides the channels");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
