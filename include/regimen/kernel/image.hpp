// regimen/kernel/image.hpp — the squares of images: a thread takes a channel of a square, neighbours read neighbours.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>

#include <cstddef>

namespace regimen::kernel {

namespace detail {

/// body(square, channel) for this thread's.
REGIMEN_HD_UNCHECKED
template <class Block, class Body>
REGIMEN_HD void for_channels(const Block& block, const op::Squares& squares, const Body& body) {
  for_pieces(block, squares.count() * squares.columns,
             [&](std::size_t i) { body(i / squares.columns, i % squares.columns); });
}
constexpr unsigned blocks_of(const op::Squares& squares, unsigned threads) {
  return blocks_for(squares.count() * squares.columns, threads);
}
/// The largest pixel of a square's channel, and which it is.
template <class S>
struct Largest {
  S value;
  std::size_t pixel = 0;
};
template <class S, class T>
REGIMEN_HD Largest<S> largest_of(const op::Squares& squares, const T* x, std::size_t square, std::size_t channel) {
  Largest<S> largest{static_cast<S>(x[squares.at(square, 0) + channel])};
  for (std::size_t pixel = 1; pixel < squares.size * squares.size; ++pixel) {
    const S value = static_cast<S>(x[squares.at(square, pixel) + channel]);
    if (value > largest.value || value != value) largest = {value, pixel};
  }
  return largest;
}

}  // namespace detail

template <class T>
struct Kernel<op::SumSquares<T>> final {
  static constexpr unsigned threads = 256;
  using S = statistic_t<T>;
  op::SumSquares<T> o;
  Memory at;

  constexpr unsigned blocks() const { return detail::blocks_of(o.squares, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::for_channels(block, o.squares, [&](std::size_t square, std::size_t channel) {
      S sum = 0;
      for (std::size_t pixel = 0; pixel < o.squares.size * o.squares.size; ++pixel)
        sum += static_cast<S>(at(o.x)[o.squares.at(square, pixel) + channel]);
      at(o.y)[square * o.squares.columns + channel] = static_cast<T>(sum * static_cast<S>(o.scale));
    });
  }
};

template <class T>
struct Kernel<op::SpreadSquares<T>> final {
  static constexpr unsigned threads = 256;
  using S = statistic_t<T>;
  op::SpreadSquares<T> o;
  Memory at;

  constexpr unsigned blocks() const { return detail::blocks_of(o.squares, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::for_channels(block, o.squares, [&](std::size_t square, std::size_t channel) {
      const T value =
          static_cast<T>(static_cast<S>(at(o.x)[square * o.squares.columns + channel]) * static_cast<S>(o.scale));
      for (std::size_t pixel = 0; pixel < o.squares.size * o.squares.size; ++pixel)
        at(o.y)[o.squares.at(square, pixel) + channel] = value;
    });
  }
};

template <class T>
struct Kernel<op::MaxSquares<T>> final {
  static constexpr unsigned threads = 256;
  op::MaxSquares<T> o;
  Memory at;

  constexpr unsigned blocks() const { return detail::blocks_of(o.squares, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::for_channels(block, o.squares, [&](std::size_t square, std::size_t channel) {
      at(o.y)[square * o.squares.columns + channel] =
          static_cast<T>(detail::largest_of<statistic_t<T>>(o.squares, at(o.x), square, channel).value);
    });
  }
};

template <class T>
struct Kernel<op::MaxSquaresBackward<T>> final {
  static constexpr unsigned threads = 256;
  op::MaxSquaresBackward<T> o;
  Memory at;

  constexpr unsigned blocks() const { return detail::blocks_of(o.squares, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::for_channels(block, o.squares, [&](std::size_t square, std::size_t channel) {
      const std::size_t chosen = detail::largest_of<statistic_t<T>>(o.squares, at(o.x), square, channel).pixel;
      for (std::size_t pixel = 0; pixel < o.squares.size * o.squares.size; ++pixel)
        at(o.d_x)[o.squares.at(square, pixel) + channel] =
            pixel == chosen ? at(o.d_y)[square * o.squares.columns + channel] : T(0.0f);
    });
  }
};

template <class T>
struct Kernel<op::Interpolate<T>> final {
  static constexpr unsigned threads = 256;
  using S = statistic_t<T>;
  op::Interpolate<T> o;
  Memory at;

  constexpr unsigned blocks() const {
    return blocks_for(o.squares.count() * o.squares.size * o.squares.size * o.squares.columns, threads);
  }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const op::Squares& q = o.squares;
    const std::size_t width = q.width * q.size, height = q.height * q.size;
    for_pieces(block, q.samples * height * width * q.columns, [&](std::size_t i) {
      const std::size_t pixel = i / q.columns, line = pixel / width, sample = line / height;
      const op::Between<S> lines(line % height, q.size, q.height), row(pixel % width, q.size, q.width);
      const auto along = [&](std::size_t of_line) {
        const T* const from = at(o.x) + (sample * q.height + of_line) * q.width * q.columns + i % q.columns;
        return static_cast<S>(from[row.first * q.columns]) * (S(1) - row.part) +
               static_cast<S>(from[row.second * q.columns]) * row.part;
      };
      at(o.y)[i] = static_cast<T>(along(lines.first) * (S(1) - lines.part) + along(lines.second) * lines.part);
    });
  }
};

template <class T>
struct Kernel<op::InterpolateBackward<T>> final {
  static constexpr unsigned threads = 256;
  using S = statistic_t<T>;
  using Between = op::Between<S>;
  op::InterpolateBackward<T> o;
  Memory at;

  constexpr unsigned blocks() const { return detail::blocks_of(o.squares, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const op::Squares& q = o.squares;
    const std::size_t width = q.width * q.size;
    detail::for_channels(block, q, [&](std::size_t pixel, std::size_t channel) {
      const std::size_t line = pixel / q.width % q.height, column = pixel % q.width,
                        sample = pixel / q.width / q.height, end = Between::begin(line + 2, q.size, q.height),
                        last = Between::begin(column + 2, q.size, q.width);
      S sum = 0;
      for (std::size_t r = Between::begin(line, q.size, q.height); r < end; ++r) {
        S along = 0;
        for (std::size_t c = Between::begin(column, q.size, q.width); c < last; ++c)
          along += static_cast<S>(at(o.d_y)[((sample * q.height * q.size + r) * width + c) * q.columns + channel]) *
                   Between::weight(c, column, q.size, q.width);
        sum += along * Between::weight(r, line, q.size, q.height);
      }
      at(o.d_x)[pixel * q.columns + channel] = static_cast<T>(sum);
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
