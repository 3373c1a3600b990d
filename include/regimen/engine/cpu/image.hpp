// regimen/engine/cpu/image.hpp — images between pixels.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cstddef>

namespace regimen::cpu {

/// Apart from kernel/image.hpp: which of its products a compiler adds without rounding them is not the same in one body.
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
