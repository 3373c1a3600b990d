// regimen/engine/cpu/unfold.hpp — the lines of windows beside each other, and back.
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
  const std::size_t count = shape.samples * lines * shape.width, chunks = (std::min)(chunks_of(count * work), count);
  parallel_for(chunks, [&](std::size_t chunk) {
    for (std::size_t i = part_begin(count, chunks, chunk); i < part_begin(count, chunks, chunk + 1); ++i)
      body(i, i / shape.width / lines, i / shape.width % lines, i % shape.width);
  });
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

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
