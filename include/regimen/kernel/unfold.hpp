// regimen/kernel/unfold.hpp — the lines of windows beside each other, and back: a thread takes a number, neighbours read
// neighbours.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>

#include <cstddef>

namespace regimen::kernel {

template <class T>
struct Kernel<op::Unfold<T>> final {
  static constexpr unsigned threads = 256;
  op::Unfold<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count(), threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const op::Convolution& shape = o.shape;
    const std::size_t channels = shape.group_channels(), taps = shape.window_height, lines = shape.out_height();
    for_pieces(block, o.count(), [&](std::size_t i) {
      const std::size_t c = i % channels, r = i / channels % taps, group = i / channels / taps % shape.groups,
                        pixel = i / (channels * taps * shape.groups), column = pixel % shape.width,
                        line = shape.from(pixel / shape.width % lines, r, shape.height),
                        sample = pixel / shape.width / lines;
      at(o.y)[i] =
          line < shape.height
              ? at(o.x)[((sample * shape.height + line) * shape.width + column) * shape.channels + group * channels + c]
              : T(0.0f);
    });
  }
};

template <class T>
struct Kernel<op::Fold<T>> final {
  static constexpr unsigned threads = 256;
  using S = statistic_t<T>;
  op::Fold<T> o;
  Memory at;

  constexpr std::size_t count() const { return o.shape.pixels() * o.shape.channels; }
  constexpr unsigned blocks() const { return blocks_for(count(), threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const op::Convolution& shape = o.shape;
    const std::size_t channels = shape.group_channels(), taps = shape.window_height, lines = shape.out_height();
    for_pieces(block, shape.pixels() * shape.channels, [&](std::size_t i) {
      const std::size_t c = i % channels, group = i / channels % shape.groups, pixel = i / shape.channels,
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
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
