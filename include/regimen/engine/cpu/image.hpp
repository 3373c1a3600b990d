// regimen/engine/cpu/image.hpp — the squares of images.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
#include <cstddef>

namespace regimen::cpu {

namespace detail {

/// body(square, begin of its columns in the small image) for all squares.
template <class Body>
void for_squares(const op::Squares& squares, const Body& body) {
  const std::size_t count = squares.count(), pixels = squares.size * squares.size;
  const std::size_t chunks = (std::min)(chunks_of(count * pixels * squares.columns), count);
  parallel_for(chunks, [&](std::size_t chunk) {
    for (std::size_t square = part_begin(count, chunks, chunk); square < part_begin(count, chunks, chunk + 1); ++square)
      body(square, square * squares.columns);
  });
}
/// Whether v replaces m as the largest.
template <class S>
Mask<S> is_larger(Vector<S> v, Vector<S> m) {
  return (v > m) | where_nan(v);
}

}  // namespace detail

template <class T>
void compute(const op::SumSquares<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const Vector<S> scale = static_cast<S>(o.scale);
  detail::for_squares(o.squares, [&](std::size_t square, std::size_t to) {
    for_each_vector<S>(0, o.squares.columns, [&](std::size_t i, auto n) {
      Vector<S> sum = S(0);
      for (std::size_t pixel = 0; pixel < o.squares.size * o.squares.size; ++pixel)
        sum += load<S>(x + o.squares.at(square, pixel) + i, n);
      store(sum * scale, y + to + i, n);
    });
  });
}

template <class T>
void compute(const op::SpreadSquares<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const Vector<S> scale = static_cast<S>(o.scale);
  detail::for_squares(o.squares, [&](std::size_t square, std::size_t from) {
    for_each_vector<S>(0, o.squares.columns, [&](std::size_t i, auto n) {
      const Vector<S> value = load<S>(x + from + i, n) * scale;
      for (std::size_t pixel = 0; pixel < o.squares.size * o.squares.size; ++pixel)
        store(value, y + o.squares.at(square, pixel) + i, n);
    });
  });
}

template <class T>
void compute(const op::MaxSquares<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  detail::for_squares(o.squares, [&](std::size_t square, std::size_t to) {
    for_each_vector<S>(0, o.squares.columns, [&](std::size_t i, auto n) {
      Vector<S> largest = load<S>(x + o.squares.at(square, 0) + i, n);
      for (std::size_t pixel = 1; pixel < o.squares.size * o.squares.size; ++pixel) {
        const Vector<S> value = load<S>(x + o.squares.at(square, pixel) + i, n);
        largest = select(detail::is_larger(value, largest), value, largest);
      }
      store(largest, y + to + i, n);
    });
  });
}

template <class T>
void compute(const op::MaxSquaresBackward<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T *const x = at(o.x), *const d_y = at(o.d_y);
  T* const d_x = at(o.d_x);
  const std::size_t pixels = o.squares.size * o.squares.size;
  detail::for_squares(o.squares, [&](std::size_t square, std::size_t from) {
    for_each_vector<S>(0, o.squares.columns, [&](std::size_t i, auto n) {
      Vector<S> largest = load<S>(x + o.squares.at(square, 0) + i, n), place = S(0);
      for (std::size_t pixel = 1; pixel < pixels; ++pixel) {
        const Vector<S> value = load<S>(x + o.squares.at(square, pixel) + i, n);
        const Mask<S> larger = detail::is_larger(value, largest);
        largest = select(larger, value, largest);
        place = select(larger, Vector<S>(static_cast<S>(pixel)), place);
      }
      const Vector<S> gradient = load<S>(d_y + from + i, n);
      for (std::size_t pixel = 0; pixel < pixels; ++pixel)
        store(select(place == Vector<S>(static_cast<S>(pixel)), gradient, Vector<S>(S(0))),
              d_x + o.squares.at(square, pixel) + i, n);
    });
  });
}

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

template <class T>
void compute(const op::InterpolateBackward<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  using Between = op::Between<S>;
  const op::Squares& q = o.squares;
  const std::size_t width = q.width * q.size;
  const T* const d_y = at(o.d_y);
  T* const d_x = at(o.d_x);
  for_rows(q.count(), q.columns, [&](std::size_t pixel, std::size_t begin, std::size_t end) {
    const std::size_t line = pixel / q.width % q.height, column = pixel % q.width, sample = pixel / q.width / q.height;
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) {
      Vector<S> sum = S(0);
      for (std::size_t r = Between::begin(line, q.size, q.height); r < Between::begin(line + 2, q.size, q.height);
           ++r) {
        Vector<S> along = S(0);
        for (std::size_t c = Between::begin(column, q.size, q.width); c < Between::begin(column + 2, q.size, q.width);
             ++c)
          along += load<S>(d_y + ((sample * q.height * q.size + r) * width + c) * q.columns + i, n) *
                   Vector<S>(Between::weight(c, column, q.size, q.width));
        sum += along * Vector<S>(Between::weight(r, line, q.size, q.height));
      }
      store(sum, d_x + pixel * q.columns + i, n);
    });
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
