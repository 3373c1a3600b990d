// regimen/rule/conv_transpose2d_takes_options.hpp — ConvTranspose2d takes options that it knows, each once.
#pragma once

#include <cstddef>

namespace regimen::rule {

/// What stands behind the window.   docs/errors/convolutions.md#conv_transpose2d_takes_options
template <class Layer, bool Sound>
struct conv_transpose2d_takes_options {
  static constexpr bool holds = Sound;
  struct must_hold {
    static_assert(
        holds,
        "regimen: ConvTranspose2d<N, Window> takes the options of Conv2d, and OutputPadding<N>; write each at most once");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
