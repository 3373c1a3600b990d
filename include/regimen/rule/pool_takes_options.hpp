// regimen/rule/pool_takes_options.hpp — pools take options that they know, each once.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// What stands behind the size.   docs/errors/convolutions.md#pool_takes_options
template <class Layer, bool Sound>
struct pool_takes_options {
  static constexpr bool holds = Sound;
  struct must_hold {
    static_assert(
        holds,
        "regimen: MaxPool<N> and AveragePool<N> take Stride<N> and Padding<N>; write each at most once, and no other");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
