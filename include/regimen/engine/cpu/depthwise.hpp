// regimen/engine/cpu/depthwise.hpp — convolutions of each channel alone: vectors of channels, and weights (taps,
// channels).
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

/// The weights (taps, channels), in the scratch.
template <class T, class S = statistic_t<T>>
const S* weights_by_tap(const op::Convolution& o, const T* weight, const Memory& at) {
  S* const to = at(View<S>{at.scratch});
  for (std::size_t tap = 0; tap < o.taps(); ++tap)
    for (std::size_t c = 0; c < o.channels; ++c) to[tap * o.channels + c] = static_cast<S>(weight[c * o.taps() + tap]);
  return to;
}
/// to[·][c] = bias[c] + Σ over the taps that read, or are read by, a pixel: `back` gives those of x, else those of y.
template <bool back, class T>
void sum_taps(const op::Convolution& o, const T* from, const statistic_t<T>* weight, const T* bias, T* to) {
  using S = statistic_t<T>;
  const std::size_t out_height = o.out_height(), out_width = o.out_width(), channels = o.channels;
  const std::size_t height = back ? out_height : o.height, width = back ? out_width : o.width;
  const auto place = [&](std::size_t at, std::size_t tap, std::size_t size) {
    return back ? o.to(at, tap, size) : o.from(at, tap, size);
  };
  for_each_of(back ? o.pixels() : o.positions(), channels * o.taps(), [&](std::size_t index) {
    const Pixel pixel = Pixel::of(index, back ? o.height : out_height, back ? o.width : out_width);
    for_each_vector<S>(0, channels, [&](std::size_t c, auto n) {
      Vector<S> sum = bias != nullptr ? load<S>(bias + c, n) : Vector<S>(S(0));
      for (std::size_t r = 0; r < o.window_height; ++r) {
        const std::size_t h = place(pixel.line, r, height);
        if (h >= height) continue;
        for (std::size_t s = 0; s < o.window_width; ++s) {
          const std::size_t w = place(pixel.column, s, width);
          if (w >= width) continue;
          sum = multiply_add(load<S>(from + ((pixel.sample * height + h) * width + w) * channels + c, n),
                             load<S>(weight + (r * o.window_width + s) * channels + c, n), sum);
        }
      }
      store(sum, to + index * channels + c, n);
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

/// d_weight (channels, taps): chunks of y's lines have sums of their own, which are added in the order of the chunks.
/// Within a line a tap's terms are summed in a register, then added to the chunk's sum.
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
