// regimen/rule/conv2d_takes_options.hpp — Conv2d takes options that it knows, each once.
#pragma once

namespace regimen::rule {

/// What stands behind the window.   docs/errors/conv2d_takes_options.md
template <class Layer, bool Sound = false>
struct conv2d_takes_options {
  static constexpr bool holds = Sound;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Conv2d<N, Window> takes Stride<N>, Padding<N>, Dilation<N>, Groups<N> and NoBias; write each at most once");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
