// regimen/rule/conv_takes_options.hpp — a convolution takes options that it knows, each once.
#pragma once

namespace regimen::rule {

/// What stands behind the window, and the window: a number, or as many extents as the input has. CausalPadding is a
/// padding of Conv1d.   Numbers: whether an option is a bare number   docs/errors/convolutions.md#conv_takes_options
template <class Layer, bool Sound = false, bool Numbers = false>
struct conv_takes_options {
  static constexpr bool holds = Sound;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a convolution takes Stride<N>, one padding, Dilation<N>, Groups<N> and NoBias; write each at most once");
  };
};

/// PyTorch's convolutions begin with the channels of their input.
template <class Layer, bool Sound>
struct conv_takes_options<Layer, Sound, true> {
  static constexpr bool holds = Sound;
  struct must_hold {
    static_assert(
        holds,
        "regimen: a convolution knows its input's channels, and options have names; write Conv2d<64, 3, Stride<2>>");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
