// regimen/core/operation/image.hpp — operations on the squares of images.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen::op {

/// An image that is cut into squares: height x width of them, each of size x size pixels, for each of its channels.
///   the large image is (samples, height · size, width · size, columns), the small one
///   (samples, height, width, columns)
struct Squares {
  std::size_t samples = 0, height = 0, width = 0, columns = 0, size = 1;

  REGIMEN_HD constexpr std::size_t count() const { return samples * height * width; }
  /// The first element of pixel `pixel` of square `square`, in the large image.
  REGIMEN_HD constexpr std::size_t at(std::size_t square, std::size_t pixel) const {
    const std::size_t line = square / width * size + pixel / size, column = square % width * size + pixel % size;
    return (line * width * size + column) * columns;
  }
  constexpr double pixels() const { return double(count() * size * size * columns); }
};

/// y = scale · Σ of the pixels of each square                x large, y small; summed in S, row by row, rounded once
template <class T>
struct SumSquares final {
  static constexpr const char* name = "sum_squares";
  View<T> x, y;
  Squares squares;
  double scale = 1;

  constexpr Cost cost() const {
    return {squares.pixels(), (squares.pixels() + double(squares.count() * squares.columns)) * sizeof(T), 1};
  }
};
/// y = scale · x, in every pixel of each square              x small, y large; rounded once
template <class T>
struct SpreadSquares final {
  static constexpr const char* name = "spread_squares";
  View<T> x, y;
  Squares squares;
  double scale = 1;

  constexpr Cost cost() const {
    return {squares.pixels(), (squares.pixels() + double(squares.count() * squares.columns)) * sizeof(T), 1};
  }
};
/// y = the largest pixel of each square, NaN if one is       x large, y small; exact
template <class T>
struct MaxSquares final {
  static constexpr const char* name = "max_squares";
  View<T> x, y;
  Squares squares;

  constexpr Cost cost() const {
    return {squares.pixels(), (squares.pixels() + double(squares.count() * squares.columns)) * sizeof(T), 1};
  }
};
/// d_x = d_y where x is the largest pixel of its square (the first of several, the last NaN), else 0     x, d_x large
template <class T>
struct MaxSquaresBackward final {
  static constexpr const char* name = "max_squares_backward";
  View<T> x, d_y, d_x;
  Squares squares;

  constexpr Cost cost() const {
    return {squares.pixels(), (2 * squares.pixels() + double(squares.count() * squares.columns)) * sizeof(T), 1};
  }
};

/// Where a line (or column) of the large image lies between two of the small one: (1 − part) · first + part · second.
///   line i lies at (i + 1/2) / size − 1/2, or at the first or the last, if it lies beyond
template <class S>
struct Between {
  std::size_t first, second;
  S part;

  REGIMEN_HD constexpr Between(std::size_t i, std::size_t size, std::size_t extent)
      : first(place(i, size) / (2 * size)),
        second(first + 1 < extent ? first + 1 : first),
        part(static_cast<S>(place(i, size) % (2 * size)) / static_cast<S>(2 * size)) {}

  /// The first line of the large image between line at - 1 of the small one and line `at`: line `at` has a part of all
  /// from there to begin(at + 2).
  REGIMEN_HD static constexpr std::size_t begin(std::size_t at, std::size_t size, std::size_t extent) {
    if (at == 0) return 0;
    const std::size_t line = size * (at - 1) + size / 2;
    return line < size * extent ? line : size * extent;
  }
  /// Its part of one of them.
  REGIMEN_HD static constexpr S weight(std::size_t i, std::size_t at, std::size_t size, std::size_t extent) {
    const std::size_t there = place(i, size), here = 2 * size * at;
    if (there > here && at + 1 == extent) return S(1);
    return S(1) - static_cast<S>(there > here ? there - here : here - there) / static_cast<S>(2 * size);
  }

 private:
  /// Of line i, in units of which a line of the small image has 2 · size.
  REGIMEN_HD static constexpr std::size_t place(std::size_t i, std::size_t size) {
    return 2 * i + 1 > size ? 2 * i + 1 - size : 0;
  }
};

/// y = the pixels of x between which each pixel lies, by their distances: along its line, then between two lines
///   x small, y large; in S, rounded once
template <class T>
struct Interpolate final {
  static constexpr const char* name = "interpolate";
  View<T> x, y;
  Squares squares;

  constexpr Cost cost() const {
    return {9 * squares.pixels(), (squares.pixels() + double(squares.count() * squares.columns)) * sizeof(T), 1};
  }
};
/// d_x = Σ of the pixels of d_y, each by the weight that x has in it    d_y large, d_x small; summed in S, rounded once
template <class T>
struct InterpolateBackward final {
  static constexpr const char* name = "interpolate_backward";
  View<T> d_y, d_x;
  Squares squares;

  constexpr Cost cost() const {
    return {12 * squares.pixels(), (squares.pixels() + double(squares.count() * squares.columns)) * sizeof(T), 1};
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
