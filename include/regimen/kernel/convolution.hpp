// regimen/kernel/convolution.hpp — convolutions of images by plain loops: a thread computes one number, neighbours the
// next channel. Right before fast: each thread reads all numbers that its sum needs, from caches at best, and no tensor
// core helps.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/column_sum.hpp>

#include <cstddef>

namespace regimen::kernel {

/// y[b,i,j,o] = bias[o] + Σ over r, s, c of weight[o,r,s,c] · x[b, line of (i,r), column of (j,s), c]
///   x (samples, height, width, channels), weight (out_channels, window_height, window_width, channels / groups)
///
/// A thread takes one number of y, neighbours the next output of the same pixel: they read the same x, and weights
/// depth() apart. `from` gives a line beyond the image where the window sees padding: such terms are left out. An
/// output reads the channels of its group alone, from output / outputs · channels on.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::Conv<T>& o, Launch<0>) {
  return o.shape.positions() * o.shape.out_channels;
}
template <class T>
REGIMEN_HD void compute(const op::Conv<T>& o, const Memory& at, std::size_t i, Launch<0>) {
  using S = statistic_t<T>;
  const op::Convolution& shape = o.shape;
  const std::size_t height = shape.out_height(), width = shape.out_width(), channels = shape.group_channels(),
                    outputs = shape.group_outputs();
  const T* const bias = at.optional(o.bias);
  const std::size_t output = i % shape.out_channels, pixel = i / shape.out_channels, column = pixel % width,
                    line = pixel / width % height, sample = pixel / width / height;
  const T* const image = at(o.x) + sample * shape.height * shape.width * shape.channels + output / outputs * channels;
  const T* weight = at(o.weight) + output * shape.depth();
  S sum = 0;
  for (std::size_t r = 0; r < shape.window_height; ++r)
    for (std::size_t s = 0; s < shape.window_width; ++s, weight += channels) {
      const std::size_t h = shape.from(line, r, shape.height), w = shape.from(column, s, shape.width);
      if (h < shape.height && w < shape.width) {
        const T* const x = image + (h * shape.width + w) * shape.channels;
        for (std::size_t c = 0; c < channels; ++c) sum += static_cast<S>(x[c]) * static_cast<S>(weight[c]);
      }
    }
  if (bias != nullptr) sum += static_cast<S>(bias[output]);
  at(o.y)[i] = static_cast<T>(sum);
}

/// d_x[b,h,w,c] = Σ over r, s and the outputs o of c's group of weight[o,r,s,c] · d_y[b,i,j,o], (i,j) the pixel of y
/// whose tap (r,s) reads (h,w): `to` gives one beyond y where there is none, as the stride passes over it or the image
/// ends.
///
/// A thread takes one number of d_x, and adds its taps in the order of the weights: no thread adds to another's number.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::ConvInput<T>& o, Launch<0>) {
  return o.shape.pixels() * o.shape.channels;
}
template <class T>
REGIMEN_HD void compute(const op::ConvInput<T>& o, const Memory& at, std::size_t i, Launch<0>) {
  using S = statistic_t<T>;
  const op::Convolution& shape = o.shape;
  const std::size_t height = shape.out_height(), width = shape.out_width(), channels = shape.group_channels(),
                    outputs = shape.group_outputs(), depth = shape.depth();
  const std::size_t channel = i % shape.channels, pixel = i / shape.channels, column = pixel % shape.width,
                    line = pixel / shape.width % shape.height, sample = pixel / shape.width / shape.height;
  const std::size_t first = channel / channels * outputs;
  const T* const image = at(o.d_y) + sample * height * width * shape.out_channels + first;
  const T* weight = at(o.weight) + first * depth + channel % channels;
  S sum = 0;
  for (std::size_t r = 0; r < shape.window_height; ++r)
    for (std::size_t s = 0; s < shape.window_width; ++s, weight += channels) {
      const std::size_t h = shape.to(line, r, height), w = shape.to(column, s, width);
      if (h < height && w < width) {
        const T* const d_y = image + (h * width + w) * shape.out_channels;
        for (std::size_t output = 0; output < outputs; ++output)
          sum += static_cast<S>(d_y[output]) * static_cast<S>(weight[output * depth]);
      }
    }
  at(o.d_x)[i] = static_cast<T>(sum);
}

namespace detail {

/// Of a convolution's weights: a sum over y's pixels.
REGIMEN_HD constexpr ColumnSum sum_of_positions(const op::Convolution& shape) {
  return {.rows = shape.positions(), .columns = shape.weights()};
}

}  // namespace detail

/// d_weight[o,r,s,c] = Σ over y's pixels of x[line of (i,r), column of (j,s), c] · d_y[i,j,o]. The first launch makes
/// sums of chunks of y's pixels, a thread for each chunk and weight: one for each weight would be too few threads. Runs
/// of at_once terms are added apart, then to the chunk's sum, which bounds the error. The second launch joins the
/// chunks in their order; if there is one alone, this launch writes, or adds to, the gradient.
template <class T, class G>
struct Kernel<op::ConvWeight<T, G>> final {
  static constexpr unsigned passes = 2, threads = 256;
  using S = statistic_t<T>;
  op::ConvWeight<T, G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::ConvWeight<T, G>& o) {
    return detail::sum_of_positions(o.shape).sums() * sizeof(S);
  }
  constexpr unsigned blocks() const {
    return blocks_for(detail::sum_of_positions(o.shape).chunks() * o.shape.weights(), threads);
  }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const op::Convolution& shape = o.shape;
    const ColumnSum rows = detail::sum_of_positions(shape);
    const std::size_t height = shape.out_height(), width = shape.out_width(), channels = shape.group_channels(),
                      outputs = shape.group_outputs(), weights = shape.weights(), chunks = rows.chunks();
    S* const partial = rows.template partial<S>(at);
    for_pieces(block, chunks * weights, [&](std::size_t piece) {
      const std::size_t chunk = piece / weights, weight = piece % weights, output = weight / shape.depth(),
                        tap = weight % shape.depth() / channels, r = tap / shape.window_width,
                        s = tap % shape.window_width;
      const T* const x = at(o.x) + output / outputs * channels + weight % channels;
      const T* const d_y = at(o.d_y) + output;
      S sum = 0;
      for (std::size_t begin = rows.begin(chunk), end = rows.begin(chunk + 1); begin < end;) {
        const std::size_t stop = end - begin < ColumnSum::at_once ? end : begin + ColumnSum::at_once;
        S part = 0;
        for (; begin < stop; ++begin) {
          const std::size_t h = shape.from(begin / width % height, r, shape.height),
                            w = shape.from(begin % width, s, shape.width), sample = begin / width / height;
          if (h < shape.height && w < shape.width)
            part += static_cast<S>(x[((sample * shape.height + h) * shape.width + w) * shape.channels]) *
                    static_cast<S>(d_y[begin * shape.out_channels]);
        }
        sum += part;
      }
      if (partial != nullptr) partial[piece] = sum;
      else JoinSums::put(sum, at(o.d_weight)[weight], o.add);
    });
  }
};
template <class T, class G>
REGIMEN_HD constexpr auto sums_left(const op::ConvWeight<T, G>& o, Launch<1>) {
  return detail::sum_of_positions(o.shape).template left<statistic_t<T>>(o.d_weight, o.add);
}

/// y[b,i,j,g,r,c] = x[b, line of (i,r), j, g, c], or 0 where the window sees padding. A thread copies one number; c
/// runs fastest, so neighbours read and write neighbours.
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

/// d_x = Σ over r of d_y at the window whose line r is this one: Unfold's gradient. A thread takes one number of d_x
/// and adds in the order of r, in S; rounded once.
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
