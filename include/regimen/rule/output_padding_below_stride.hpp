// regimen/rule/output_padding_below_stride.hpp — output padding chooses among the sizes that a stride makes equal.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// More of it would be zeros that no window reaches.   docs/errors/convolutions.md#output_padding_below_stride
template <class Layer, std::size_t OutputPadding, std::size_t Stride>
struct output_padding_below_stride {
  static constexpr bool holds = OutputPadding < Stride;
  struct must_hold {
    static_assert(holds,
                  "regimen: OutputPadding<N> chooses among sizes that Stride makes one; let N be less than the stride");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
