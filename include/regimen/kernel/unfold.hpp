// regimen/kernel/unfold.hpp — the lines of windows beside each other, and back: a thread takes a number, neighbours read
// neighbours.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>

#include <cstddef>

namespace regimen::kernel {

template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::Unfold<T>& o, Launch<0>) {
  return o.count();
}
template <class T>
REGIMEN_HD void compute(const op::Unfold<T>& o, const Memory& at, std::size_t i, Launch<0>) {
  const op::Convolution& shape = o.shape;
  const std::size_t channels = shape.group_channels(), taps = shape.window_height, lines = shape.out_height(),
                    c = i % channels, r = i / channels % taps, group = i / channels / taps % shape.groups,
                    pixel = i / (channels * taps * shape.groups), column = pixel % shape.width,
                    line = shape.from(pixel / shape.width % lines, r, shape.height),
                    sample = pixel / shape.width / lines;
  at(o.y)[i] =
      line < shape.height
          ? at(o.x)[((sample * shape.height + line) * shape.width + column) * shape.channels + group * channels + c]
          : T(0.0f);
}

template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::Fold<T>& o, Launch<0>) {
  return o.shape.pixels() * o.shape.channels;
}
template <class T>
REGIMEN_HD void compute(const op::Fold<T>& o, const Memory& at, std::size_t i, Launch<0>) {
  using S = statistic_t<T>;
  const op::Convolution& shape = o.shape;
  const std::size_t channels = shape.group_channels(), taps = shape.window_height, lines = shape.out_height(),
                    c = i % channels, group = i / channels % shape.groups, pixel = i / shape.channels,
                    column = pixel % shape.width, line = pixel / shape.width % shape.height,
                    sample = pixel / shape.width / shape.height;
  S sum = 0;
  for (std::size_t r = 0; r < taps; ++r) {
    const std::size_t to = shape.to(line, r, lines);
    if (to < lines)
      sum += static_cast<S>(
          at(o.d_y)[(((sample * lines + to) * shape.width + column) * shape.groups + group) * taps * channels +
                    r * channels + c]);
  }
  at(o.d_x)[i] = static_cast<T>(sum);
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
