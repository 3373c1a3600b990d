// regimen/engine/cpu/depthwise.hpp — convolutions of each channel alone: vectors of channels, and weights (taps, channels).
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>
#include <regimen/engine/cpu/traits.hpp>

#include <cstddef>

namespace regimen::cpu::detail {

/// A pixel of a batch of images.
struct Pixel {
  std::size_t sample, line, column;

  static Pixel of(std::size_t index, std::size_t height, std::size_t width) {
    return {index / (height * width), index / width % height, index % width};
  }
};

template <class S, class T>
const S* weights_by_tap(const op::Convolution& o, const T* weight, const Memory& at) {
  S* const to = at(View<S>{at.scratch});
  for (std::size_t tap = 0; tap < o.taps(); ++tap)
    for (std::size_t c = 0; c < o.channels; ++c) to[tap * o.channels + c] = static_cast<S>(weight[c * o.taps() + tap]);
  return to;
}
/// body(index) for `count` pixels with so much work each.
template <class Body>
void for_pixels(std::size_t count, std::size_t work, const Body& body) {
  const std::size_t wanted = chunks_of(count * work), chunks = wanted < count ? wanted : count;
  parallel_for(chunks, [&](std::size_t chunk) {
    for (std::size_t i = part_begin(count, chunks, chunk); i < part_begin(count, chunks, chunk + 1); ++i) body(i);
  });
}

template <class T>
void compute_depthwise(const op::Conv<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const op::Convolution& shape = o.shape;
  const T* const x = at(o.x);
  const T* const bias = at.optional(o.bias);
  T* const y = at(o.y);
  const S* const weight = weights_by_tap<S>(shape, at(o.weight), at);
  const std::size_t channels = shape.channels;
  for_pixels(shape.positions(), channels * shape.taps(), [&](std::size_t index) {
    const Pixel to = Pixel::of(index, shape.out_height(), shape.out_width());
    for_each_vector<S>(0, channels, [&](std::size_t c, auto n) {
      Vector<S> sum = bias != nullptr ? load<S>(bias + c, n) : Vector<S>(S(0));
      for (std::size_t r = 0; r < shape.window_height; ++r) {
        const std::size_t h = shape.from(to.line, r, shape.height);
        if (h >= shape.height) continue;
        for (std::size_t s = 0; s < shape.window_width; ++s) {
          const std::size_t w = shape.from(to.column, s, shape.width);
          if (w >= shape.width) continue;
          sum = multiply_add(load<S>(x + ((to.sample * shape.height + h) * shape.width + w) * channels + c, n),
                             load<S>(weight + (r * shape.window_width + s) * channels + c, n), sum);
        }
      }
      store(sum, y + index * channels + c, n);
    });
  });
}
template <class T>
void compute_depthwise(const op::ConvInput<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const op::Convolution& shape = o.shape;
  const T* const d_y = at(o.d_y);
  T* const d_x = at(o.d_x);
  const S* const weight = weights_by_tap<S>(shape, at(o.weight), at);
  const std::size_t channels = shape.channels, height = shape.out_height(), width = shape.out_width();
  for_pixels(shape.pixels(), channels * shape.taps(), [&](std::size_t index) {
    const Pixel from = Pixel::of(index, shape.height, shape.width);
    for_each_vector<S>(0, channels, [&](std::size_t c, auto n) {
      Vector<S> sum = S(0);
      for (std::size_t r = 0; r < shape.window_height; ++r) {
        const std::size_t h = shape.to(from.line, r, height);
        if (h >= height) continue;
        for (std::size_t s = 0; s < shape.window_width; ++s) {
          const std::size_t w = shape.to(from.column, s, width);
          if (w >= width) continue;
          sum = multiply_add(load<S>(d_y + ((from.sample * height + h) * width + w) * channels + c, n),
                             load<S>(weight + (r * shape.window_width + s) * channels + c, n), sum);
        }
      }
      store(sum, d_x + index * channels + c, n);
    });
  });
}
/// sums (taps, channels) of y's lines [first, last).
template <class S, class T>
void sum_lines(const op::Convolution& shape, const T* x, const T* d_y, S* sums, std::size_t first, std::size_t last) {
  const std::size_t channels = shape.channels, height = shape.out_height(), width = shape.out_width();
  for (std::size_t i = 0; i < shape.weights(); ++i) sums[i] = S(0);
  for (std::size_t line = first; line < last; ++line)
    for (std::size_t tap = 0; tap < shape.taps(); ++tap) {
      const std::size_t h = shape.from(line % height, tap / shape.window_width, shape.height);
      if (h >= shape.height) continue;
      const T* const x_line = x + (line / height * shape.height + h) * shape.width * channels;
      const T* const y_line = d_y + line * width * channels;
      for_each_vector<S>(0, channels, [&](std::size_t c, auto n) {
        Vector<S> sum = S(0);
        for (std::size_t column = 0; column < width; ++column) {
          const std::size_t w = shape.from(column, tap % shape.window_width, shape.width);
          if (w < shape.width)
            sum = multiply_add(load<S>(x_line + w * channels + c, n), load<S>(y_line + column * channels + c, n), sum);
        }
        S* const to = sums + tap * channels + c;
        store(load<S>(to, n) + sum, to, n);
      });
    }
}

template <class T, class G>
void compute_depthwise(const op::ConvWeight<T, G>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T *const x = at(o.x), *const d_y = at(o.d_y);
  G* const d_weight = at(o.d_weight);
  S* const partial = at(View<S>{at.scratch});
  const op::Convolution& shape = o.shape;
  const std::size_t chunks = ConvChunks::of<S>(shape), weights = shape.weights(),
                    lines = shape.samples * shape.out_height(), taps = shape.taps();
  parallel_for(chunks, [&](std::size_t chunk) {
    sum_lines(shape, x, d_y, partial + chunk * weights, part_begin(lines, chunks, chunk),
              part_begin(lines, chunks, chunk + 1));
  });
  for (std::size_t c = 0; c < shape.channels; ++c)
    for (std::size_t tap = 0; tap < taps; ++tap) {
      S sum = partial[tap * shape.channels + c];
      for (std::size_t chunk = 1; chunk < chunks; ++chunk) sum += partial[chunk * weights + tap * shape.channels + c];
      G& to = d_weight[c * taps + tap];
      to = static_cast<G>(o.add ? static_cast<S>(to) + sum : sum);
    }
}

}  // namespace regimen::cpu::detail
// SPDX-License-Identifier: Apache-2.0
