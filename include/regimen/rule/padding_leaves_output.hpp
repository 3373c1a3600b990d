// regimen/rule/padding_leaves_output.hpp — padding leaves something of a transposed convolution.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Height and Width: of the output, before the padding takes off both ends.
/// docs/errors/convolutions.md#padding_leaves_output
template <class Layer, std::size_t Height, std::size_t Width, std::size_t Padding>
struct padding_leaves_output {
  static constexpr bool holds = (Height > 2 * Padding && Width > 2 * Padding);
  struct must_hold {
    static_assert(holds,
                  "regimen: the padding of ConvTranspose2d takes off all of its output; let Padding<N> be smaller");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
