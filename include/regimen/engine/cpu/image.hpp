// regimen/engine/cpu/image.hpp — images between pixels; the lines of windows beside each other, and back.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
#include <cstddef>

namespace regimen::cpu {

namespace detail {

/// body(index, sample, line, column) for `lines` of each sample.
template <class Body>
void for_columns(const op::Convolution& shape, std::size_t lines, std::size_t work, const Body& body) {
  for_each_of(shape.samples * lines * shape.width, work,
              [&](std::size_t i) { body(i, i / shape.width / lines, i / shape.width % lines, i % shape.width); });
}

}  // namespace detail

template <class T>
void compute(const op::Unfold<T>& o, const Memory& at) {
  const op::Convolution& shape = o.shape;
  const std::size_t channels = shape.group_channels(), taps = shape.window_height, row = taps * shape.channels;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  detail::for_columns(
      shape, shape.out_height(), row, [&](std::size_t i, std::size_t sample, std::size_t line, std::size_t column) {
        for (std::size_t r = 0; r < taps; ++r) {
          const std::size_t found = shape.from(line, r, shape.height);
          const T* const from = found < shape.height
                                    ? x + ((sample * shape.height + found) * shape.width + column) * shape.channels
                                    : nullptr;
          for (std::size_t group = 0; group < shape.groups; ++group) {
            T* const to = y + i * row + (group * taps + r) * channels;
            if (from != nullptr) std::copy_n(from + group * channels, channels, to);
            else std::fill_n(to, channels, T(0.0f));
          }
        }
      });
}

template <class T>
void compute(const op::Fold<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const op::Convolution& shape = o.shape;
  const std::size_t channels = shape.group_channels(), taps = shape.window_height, row = taps * shape.channels,
                    lines = shape.out_height();
  const T* const d_y = at(o.d_y);
  T* const d_x = at(o.d_x);
  detail::for_columns(
      shape, shape.height, row, [&](std::size_t i, std::size_t sample, std::size_t line, std::size_t column) {
        for (std::size_t group = 0; group < shape.groups; ++group)
          for_each_vector<S>(0, channels, [&](std::size_t c, auto n) {
            Vector<S> sum = S(0);
            for (std::size_t r = 0; r < taps; ++r) {
              const std::size_t to = shape.to(line, r, lines);
              if (to < lines)
                sum += load<S>(
                    d_y + ((sample * lines + to) * shape.width + column) * row + (group * taps + r) * channels + c, n);
            }
            store(sum, d_x + i * shape.channels + group * channels + c, n);
          });
      });
}

/// Apart from kernel/image.hpp: which of its products a compiler adds without rounding them is not the same in one
/// body.
template <class T>
void compute(const op::Interpolate<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const op::Squares& q = o.squares;
  const std::size_t width = q.width * q.size, height = q.height * q.size;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  for_rows(q.samples * height * width, q.columns, [&](std::size_t pixel, std::size_t begin, std::size_t end) {
    const std::size_t line = pixel / width, sample = line / height;
    const op::Between<S> lines(line % height, q.size, q.height), row(pixel % width, q.size, q.width);
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) {
      const auto along = [&](std::size_t of_line) {
        const T* const from = x + (sample * q.height + of_line) * q.width * q.columns + i;
        return load<S>(from + row.first * q.columns, n) * Vector<S>(S(1) - row.part) +
               load<S>(from + row.second * q.columns, n) * Vector<S>(row.part);
      };
      store(along(lines.first) * Vector<S>(S(1) - lines.part) + along(lines.second) * Vector<S>(lines.part),
            y + pixel * q.columns + i, n);
    });
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
