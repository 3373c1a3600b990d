// tests/engine/cpu/convolution_definition.hpp — convolutions by their definition, in fp64, and shapes to try.
#pragma once

#include "arena.hpp"

#include <regimen/core/operation/convolution.hpp>

#include <array>
#include <cmath>
#include <cstddef>

namespace test {

/// What the definition gives, and Σ |term| of each sum, to which its error is relative.
struct OfConvolution {
  Values y, y_size, d_x, d_x_size, d_weight, d_weight_size;
};

/// Signed lines and columns; nothing of Convolution but its numbers.
inline OfConvolution defined(const regimen::op::Convolution& o, const Values& x, const Values& weight,
                             const Values& d_y) {
  const auto extent = [&](std::size_t size, std::size_t window) {
    return (size + 2 * o.padding - (o.dilation * (window - 1) + 1)) / o.stride + 1;
  };
  const std::size_t height = extent(o.height, o.window_height), width = extent(o.width, o.window_width);
  const std::size_t in = o.channels / o.groups, out = o.out_channels / o.groups;
  const std::size_t outputs = o.samples * height * width * o.out_channels;
  OfConvolution all{Values(outputs),  Values(outputs),       Values(x.size()),
                    Values(x.size()), Values(weight.size()), Values(weight.size())};
  const auto add = [](double& sum, double& size, double a, double b) { sum += a * b, size += std::fabs(a * b); };
  std::size_t to = 0;
  for (std::size_t b = 0; b < o.samples; ++b)
    for (std::size_t i = 0; i < height; ++i)
      for (std::size_t j = 0; j < width; ++j)
        for (std::size_t k = 0; k < o.out_channels; ++k, ++to)
          for (std::size_t r = 0; r < o.window_height; ++r)
            for (std::size_t s = 0; s < o.window_width; ++s) {
              const long h = long(i * o.stride + r * o.dilation) - long(o.padding),
                         w = long(j * o.stride + s * o.dilation) - long(o.padding);
              if (h < 0 || w < 0 || h >= long(o.height) || w >= long(o.width)) continue;
              for (std::size_t c = 0; c < in; ++c) {
                const std::size_t from =
                    ((b * o.height + std::size_t(h)) * o.width + std::size_t(w)) * o.channels + k / out * in + c;
                const std::size_t by = ((k * o.window_height + r) * o.window_width + s) * in + c;
                add(all.y[to], all.y_size[to], x[from], weight[by]);
                add(all.d_x[from], all.d_x_size[from], d_y[to], weight[by]);
                add(all.d_weight[by], all.d_weight_size[by], d_y[to], x[from]);
              }
            }
  return all;
}

/// Multiples of nothing: plain, strides that leave a margin, taps that no pixel has, dilation, groups, depthwise, wide
/// windows, more channels than a tile, more positions than a chunk. None that the CPU computes by tiles of 2 x 2.
inline constexpr std::array<regimen::op::Convolution, 11> convolutions{{
    {.samples = 1, .height = 1, .width = 1, .channels = 1, .out_channels = 1},
    {.samples = 2, .height = 5, .width = 7, .channels = 3, .out_channels = 5, .window_height = 3, .window_width = 3},
    {.samples = 2,
     .height = 6,
     .width = 5,
     .channels = 3,
     .out_channels = 17,
     .window_height = 3,
     .window_width = 2,
     .stride = 2,
     .padding = 1},
    {.samples = 1,
     .height = 9,
     .width = 8,
     .channels = 19,
     .out_channels = 33,
     .window_height = 2,
     .window_width = 3,
     .stride = 3,
     .padding = 2,
     .dilation = 2},
    {.samples = 2,
     .height = 4,
     .width = 5,
     .channels = 6,
     .out_channels = 9,
     .window_height = 3,
     .window_width = 3,
     .padding = 1,
     .groups = 3},
    {.samples = 1,
     .height = 7,
     .width = 7,
     .channels = 4,
     .out_channels = 3,
     .window_height = 1,
     .window_width = 1,
     .stride = 3},
    {.samples = 3,
     .height = 5,
     .width = 6,
     .channels = 21,
     .out_channels = 21,
     .window_height = 3,
     .window_width = 3,
     .padding = 1,
     .groups = 21},
    {.samples = 1,
     .height = 8,
     .width = 9,
     .channels = 7,
     .out_channels = 7,
     .window_height = 2,
     .window_width = 4,
     .stride = 2,
     .padding = 3,
     .dilation = 3,
     .groups = 7},
    {.samples = 1,
     .height = 3,
     .width = 4,
     .channels = 3,
     .out_channels = 6,
     .window_height = 3,
     .window_width = 3,
     .padding = 3,
     .groups = 3},
    {.samples = 1,
     .height = 4,
     .width = 5,
     .channels = 29,
     .out_channels = 101,
     .window_height = 3,
     .window_width = 3,
     .padding = 1},
    {.samples = 2,
     .height = 21,
     .width = 23,
     .channels = 5,
     .out_channels = 7,
     .window_height = 3,
     .window_width = 3,
     .stride = 1,
     .padding = 1},
}};

}  // namespace test
// SPDX-License-Identifier: Apache-2.0
