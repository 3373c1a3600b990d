// regimen/rule/upsample_takes_mode.hpp — Upsample takes Bilinear, or nothing.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// Known: what stands behind the factor is Bilinear alone, or nothing.   docs/errors/upsample_takes_mode.md
template <class Layer, bool Known>
struct upsample_takes_mode {
  static constexpr bool holds = Known;
  struct must_hold {
    static_assert(holds, "regimen: Upsample<N> repeats pixels, Upsample<N, Bilinear> interpolates; write one of them");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
