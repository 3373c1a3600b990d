// regimen/kernel/image.hpp — squares and windows of images: a lane takes channels of a square, a window or a pixel.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/body.hpp>

#include <cstddef>

// Images are (samples, height, width, channels): a pixel is a row of channels, and on a device neighbouring threads
// take neighbouring channels, so that they read neighbours. Every number of a result is computed by one lane, by
// itself, in an order that the shape alone decides: no atomics. S is the type of
// statistics; sums are rounded once.
#if defined(__CUDACC__) && !defined(REGIMEN_HD_CHECKED)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20011, 20014  // as kernel/body.hpp
#endif

namespace regimen::kernel {

namespace detail {

/// Of operations on whole squares, which read or write all of their pixels.
REGIMEN_HD constexpr Extent extent_of(const op::Squares& squares) {
  return {squares.count(), squares.columns, squares.size * squares.size};
}

}  // namespace detail

/// y = scale · Σ of a square's pixels of x: line by line, from the first. With scale 1 / size² the mean.
template <class T, class At>
struct Body<op::SumSquares<T>, At> final {
  using Number = statistic_t<T>;
  op::Squares squares;
  const T* x;
  T* y;
  Number scale;

  REGIMEN_HD Body(const op::SumSquares<T>& o, const At& at)
      : squares(o.squares), x(at(o.x)), y(at(o.y)), scale(static_cast<Number>(o.scale)) {}
  REGIMEN_HD constexpr Extent extent() const { return detail::extent_of(squares); }
  REGIMEN_HD void operator()(std::size_t square, const auto& lane) const {
    auto sum = lane.number(0);
    for (std::size_t pixel = 0; pixel < squares.size * squares.size; ++pixel)
      sum += lane.load(x + squares.at(square, pixel), 0);
    lane.store(sum * lane.number(scale), y, square);
  }
};

/// y = scale · x in each pixel of a square: a lane reads one number and writes size² of them.
template <class T, class At>
struct Body<op::SpreadSquares<T>, At> final {
  using Number = statistic_t<T>;
  op::Squares squares;
  const T* x;
  T* y;
  Number scale;

  REGIMEN_HD Body(const op::SpreadSquares<T>& o, const At& at)
      : squares(o.squares), x(at(o.x)), y(at(o.y)), scale(static_cast<Number>(o.scale)) {}
  REGIMEN_HD constexpr Extent extent() const { return detail::extent_of(squares); }
  REGIMEN_HD void operator()(std::size_t square, const auto& lane) const {
    const auto value = lane.load(x, square) * lane.number(scale);
    for (std::size_t pixel = 0; pixel < squares.size * squares.size; ++pixel)
      lane.store(value, y + squares.at(square, pixel), 0);
  }
};

/// y = the largest pixel of a square. A NaN counts as larger than all before it, so a square with one becomes NaN.
template <class T, class At>
struct Body<op::MaxSquares<T>, At> final {
  using Number = statistic_t<T>;
  op::Squares squares;
  const T* x;
  T* y;

  REGIMEN_HD Body(const op::MaxSquares<T>& o, const At& at) : squares(o.squares), x(at(o.x)), y(at(o.y)) {}
  REGIMEN_HD constexpr Extent extent() const { return detail::extent_of(squares); }
  REGIMEN_HD void operator()(std::size_t square, const auto& lane) const {
    auto largest = detail::LargestSeen{lane.load(x + squares.at(square, 0), 0), lane.number(0)};
    for (std::size_t pixel = 1; pixel < squares.size * squares.size; ++pixel)
      largest.compare(lane, lane.load(x + squares.at(square, pixel), 0), pixel);
    lane.store(largest.value, y, square);
  }
};

/// d_x = d_y in the largest pixel of a square, 0 in all others. Which one it was is found again from x: nothing is
/// saved for it. Equal ones: the first, as `compare` asks for a larger one; of NaNs the last, as each replaces the one
/// before.
template <class T, class At>
struct Body<op::MaxSquaresBackward<T>, At> final {
  using Number = statistic_t<T>;
  op::Squares squares;
  const T *x, *d_y;
  T* d_x;

  REGIMEN_HD Body(const op::MaxSquaresBackward<T>& o, const At& at)
      : squares(o.squares), x(at(o.x)), d_y(at(o.d_y)), d_x(at(o.d_x)) {}
  REGIMEN_HD constexpr Extent extent() const { return detail::extent_of(squares); }
  REGIMEN_HD void operator()(std::size_t square, const auto& lane) const {
    auto largest = detail::LargestSeen{lane.load(x + squares.at(square, 0), 0), lane.number(0)};
    for (std::size_t pixel = 1; pixel < squares.size * squares.size; ++pixel)
      largest.compare(lane, lane.load(x + squares.at(square, pixel), 0), pixel);
    const auto gradient = lane.load(d_y, square);
    for (std::size_t pixel = 0; pixel < squares.size * squares.size; ++pixel)
      lane.store(select(largest.place == lane.number(pixel), gradient, lane.number(0)), d_x + squares.at(square, pixel),
                 0);
  }
};

// ---- windows, which may overlap

/// y = scale · Σ of the pixels that a window sees: those within the image, line by line.
template <class T, class At>
struct Body<op::SumWindows<T>, At> final {
  using Number = statistic_t<T>;
  op::Windows windows;
  const T* x;
  T* y;
  Number scale;

  REGIMEN_HD Body(const op::SumWindows<T>& o, const At& at)
      : windows(o.windows), x(at(o.x)), y(at(o.y)), scale(static_cast<Number>(o.scale)) {}
  REGIMEN_HD constexpr Extent extent() const { return {windows.count(), windows.columns}; }
  REGIMEN_HD void operator()(std::size_t window, const auto& lane) const {
    auto sum = lane.number(0);
    windows.for_pixels(window, [&](std::size_t pixel) { sum += lane.load(x, pixel); });
    lane.store(sum * lane.number(scale), y, window);
  }
};

/// y = scale · Σ of the windows that see a pixel. A lane takes a pixel and adds its windows: if it took a window, lanes
/// of neighbouring windows would have to add to one pixel.
template <class T, class At>
struct Body<op::SpreadWindows<T>, At> final {
  using Number = statistic_t<T>;
  op::Windows windows;
  const T* x;
  T* y;
  Number scale;

  REGIMEN_HD Body(const op::SpreadWindows<T>& o, const At& at)
      : windows(o.windows), x(at(o.x)), y(at(o.y)), scale(static_cast<Number>(o.scale)) {}
  REGIMEN_HD constexpr Extent extent() const { return {windows.pixels(), windows.columns}; }
  REGIMEN_HD void operator()(std::size_t pixel, const auto& lane) const {
    auto sum = lane.number(0);
    windows.for_windows(pixel, [&](std::size_t window) { sum += lane.load(x, window); });
    lane.store(sum * lane.number(scale), y, pixel);
  }
};

/// y = the largest pixel that a window sees, NaN if one is. The first pixel begins it, as there is always one.
template <class T, class At>
struct Body<op::MaxWindows<T>, At> final {
  using Number = statistic_t<T>;
  op::Windows windows;
  const T* x;
  T* y;

  REGIMEN_HD Body(const op::MaxWindows<T>& o, const At& at) : windows(o.windows), x(at(o.x)), y(at(o.y)) {}
  REGIMEN_HD constexpr Extent extent() const { return {windows.count(), windows.columns}; }
  REGIMEN_HD void operator()(std::size_t window, const auto& lane) const {
    auto largest = detail::LargestSeen{lane.number(0), lane.number(0)};
    windows.for_pixels(window, [&](std::size_t pixel) { largest.look(lane, lane.load(x, pixel)); });
    lane.store(largest.value, y, window);
  }
};

/// d_x = Σ d_y of the windows whose largest pixel this is. A lane takes a pixel, and of each window that sees it finds
/// the largest one again: `own` is this pixel's place among those that the window sees.
///
/// cost   each window is searched once for each of its pixels, from the caches
template <class T, class At>
struct Body<op::MaxWindowsBackward<T>, At> final {
  using Number = statistic_t<T>;
  op::Windows windows;
  const T *x, *d_y;
  T* d_x;

  REGIMEN_HD Body(const op::MaxWindowsBackward<T>& o, const At& at)
      : windows(o.windows), x(at(o.x)), d_y(at(o.d_y)), d_x(at(o.d_x)) {}
  REGIMEN_HD constexpr Extent extent() const { return {windows.pixels(), windows.columns}; }
  REGIMEN_HD void operator()(std::size_t pixel, const auto& lane) const {
    auto sum = lane.number(0);
    windows.for_windows(pixel, [&](std::size_t window) {
      auto largest = detail::LargestSeen{lane.number(0), lane.number(0)};
      unsigned own = 0;
      windows.for_pixels(window, [&](std::size_t other) {
        if (other == pixel) own = largest.seen;
        largest.look(lane, lane.load(x, other));
      });
      sum += select(largest.place == lane.number(own), lane.load(d_y, window), lane.number(0));
    });
    lane.store(sum, d_x, pixel);
  }
};

// ---- between pixels

/// d_x = Σ of the large image's pixels that lie near a small one, each by the product of its weights along line and
/// column: lines `begin(line) ... begin(line + 2)` of the large image are those that read this line, columns alike. The
/// weights of a line are applied to the sum along it, once.
template <class T, class At>
struct Body<op::InterpolateBackward<T>, At> final {
  using Number = statistic_t<T>;
  op::Squares squares;
  const T* d_y;
  T* d_x;

  REGIMEN_HD Body(const op::InterpolateBackward<T>& o, const At& at)
      : squares(o.squares), d_y(at(o.d_y)), d_x(at(o.d_x)) {}
  REGIMEN_HD constexpr Extent extent() const { return {squares.count(), squares.columns}; }
  REGIMEN_HD void operator()(std::size_t pixel, const auto& lane) const {
    using Between = op::Between<Number>;
    const op::Squares& q = squares;
    const std::size_t line = pixel / q.width % q.height, column = pixel % q.width, sample = pixel / q.width / q.height,
                      end = Between::begin(line + 2, q.size, q.height),
                      last = Between::begin(column + 2, q.size, q.width);
    auto sum = lane.number(0);
    for (std::size_t r = Between::begin(line, q.size, q.height); r < end; ++r) {
      auto along = lane.number(0);
      for (std::size_t c = Between::begin(column, q.size, q.width); c < last; ++c)
        along += lane.load(d_y, (sample * q.height * q.size + r) * q.width * q.size + c) *
                 lane.number(Between::weight(c, column, q.size, q.width));
      sum += along * lane.number(Between::weight(r, line, q.size, q.height));
    }
    lane.store(sum, d_x, pixel);
  }
};

/// y = the mean of four pixels of x, by their distances: (1 − part) · first + part · second along two lines, then the
/// same between the lines. A thread takes a number of y. It is no Body: see engine/cpu/image.hpp for the rounding of
/// products.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::Interpolate<T>& o, Launch<0>) {
  return o.squares.count() * o.squares.size * o.squares.size * o.squares.columns;
}
template <class T>
REGIMEN_HD void compute(const op::Interpolate<T>& o, const Memory& at, std::size_t i, Launch<0>) {
  using S = statistic_t<T>;
  const op::Squares& q = o.squares;
  const std::size_t width = q.width * q.size, height = q.height * q.size;
  const std::size_t pixel = i / q.columns, line = pixel / width, sample = line / height;
  const op::Between<S> lines(line % height, q.size, q.height), row(pixel % width, q.size, q.width);
  const auto along = [&](std::size_t of_line) {
    const T* const from = at(o.x) + (sample * q.height + of_line) * q.width * q.columns + i % q.columns;
    return static_cast<S>(from[row.first * q.columns]) * (S(1) - row.part) +
           static_cast<S>(from[row.second * q.columns]) * row.part;
  };
  at(o.y)[i] = static_cast<T>(along(lines.first) * (S(1) - lines.part) + along(lines.second) * lines.part);
}

}  // namespace regimen::kernel

#if defined(__CUDACC__) && !defined(REGIMEN_HD_CHECKED)
#pragma nv_diagnostic pop
#endif
// SPDX-License-Identifier: Apache-2.0
