// regimen/core/operation/image.hpp — operations on the squares of images.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen::op {

/// An image that is cut into squares: height x width of them, each of size x size pixels, for each of its channels.
///   the large image is (samples, height · size, width · size, columns), the small one (samples, height, width, columns)
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

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
