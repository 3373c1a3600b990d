// regimen/rule/resampling_takes_mode.hpp — Upsample and Downsample take Bilinear, or nothing.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Known: what stands behind the factor is Bilinear alone, or nothing.
/// docs/errors/convolutions.md#resampling_takes_mode
template <class Layer, bool Known>
struct resampling_takes_mode {
  static constexpr bool holds = Known;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Upsample<N> and Downsample<N> take pixels, with Bilinear behind N they interpolate; write one of them");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
