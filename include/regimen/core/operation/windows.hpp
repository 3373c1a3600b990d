// regimen/core/operation/windows.hpp — operations on windows of images, which may overlap.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen::op {

/// Windows of size x size pixels, `stride` lines and columns apart, of an image with `padding` lines and columns on
/// each side, padding < size; or, without padding, of one whose first `skip` lines and columns are left out. Those that
/// lie in what is left make a smaller image; each sees a pixel of the image at least.
///   the image is (samples, height, width, columns), the windows (samples, windows_high(), windows_wide(), columns)
struct Windows {
  std::size_t samples = 0, height = 0, width = 0, columns = 0, size = 1, stride = 1, padding = 0, skip = 0;

  REGIMEN_HD constexpr std::size_t along(std::size_t extent) const {
    return (extent + 2 * padding - skip - size) / stride + 1;
  }
  REGIMEN_HD constexpr std::size_t windows_high() const { return along(height); }
  REGIMEN_HD constexpr std::size_t windows_wide() const { return along(width); }
  REGIMEN_HD constexpr std::size_t count() const { return samples * windows_high() * windows_wide(); }
  REGIMEN_HD constexpr std::size_t pixels() const { return samples * height * width; }

  /// Indices from first to before last.
  struct Run {
    std::size_t first, last;
  };
  /// The lines that window `at` sees of a height, or the columns of a width.
  REGIMEN_HD constexpr Run seen(std::size_t at, std::size_t extent) const {
    const std::size_t begin = at * stride + skip, end = begin + size - padding;
    return {begin > padding ? begin - padding : 0, end < extent ? end : extent};
  }
  /// The windows that see line `at` of a height, or column `at` of a width; none, if it lies between two.
  REGIMEN_HD constexpr Run seeing(std::size_t at, std::size_t extent) const {
    if (at + padding < skip) return {0, 0};
    const std::size_t place = at + padding - skip, end = place / stride + 1, all = along(extent),
                      first = place < size ? 0 : (place - size) / stride + 1;
    return {first, end < all ? end : all};
  }
  /// f(pixel) for those that the window sees, line by line.
  REGIMEN_HD_UNCHECKED
  template <class F>
  REGIMEN_HD constexpr void for_pixels(std::size_t window, const F& f) const {
    const std::size_t line = window / windows_wide(), sample = line / windows_high();
    const Run lines = seen(line % windows_high(), height), row = seen(window % windows_wide(), width);
    for (std::size_t i = lines.first; i < lines.last; ++i)
      for (std::size_t j = row.first; j < row.last; ++j) f((sample * height + i) * width + j);
  }
  /// f(window) for those that see the pixel, line by line.
  REGIMEN_HD_UNCHECKED
  template <class F>
  REGIMEN_HD constexpr void for_windows(std::size_t pixel, const F& f) const {
    const std::size_t line = pixel / width, sample = line / height;
    const Run lines = seeing(line % height, height), row = seeing(pixel % width, width);
    for (std::size_t i = lines.first; i < lines.last; ++i)
      for (std::size_t j = row.first; j < row.last; ++j) f((sample * windows_high() + i) * windows_wide() + j);
  }

  /// Numbers that all windows see, those of the image, those of the windows, and the different ones that windows see.
  constexpr double views() const { return double(count() * columns) * double(size * size); }
  constexpr double numbers() const { return double(pixels() * columns); }
  constexpr double small_numbers() const { return double(count() * columns); }
  constexpr double seen_numbers() const { return stride > size ? views() : numbers(); }
};

/// y = scale · Σ of the pixels that each window sees        x image, y windows; summed in S, line by line, rounded once
template <class T>
struct SumWindows final {
  static constexpr const char* name = "sum_windows";
  View<T> x, y;
  Windows windows;
  double scale = 1;

  constexpr Cost cost() const {
    return {windows.views(), (windows.seen_numbers() + windows.small_numbers()) * sizeof(T), 1};
  }
};
/// y = scale · Σ of the windows that see each pixel          x windows, y image; summed in S, rounded once
template <class T>
struct SpreadWindows final {
  static constexpr const char* name = "spread_windows";
  View<T> x, y;
  Windows windows;
  double scale = 1;

  constexpr Cost cost() const {
    return {windows.views(), (windows.numbers() + windows.small_numbers()) * sizeof(T), 1};
  }
};
/// y = the largest pixel that each window sees, NaN if one is      x image, y windows; exact
template <class T>
struct MaxWindows final {
  static constexpr const char* name = "max_windows";
  View<T> x, y;
  Windows windows;

  constexpr Cost cost() const {
    return {windows.views(), (windows.seen_numbers() + windows.small_numbers()) * sizeof(T), 1};
  }
};
/// d_x = Σ d_y of the windows of which a pixel is the largest (the first of several, the last NaN)
///   x, d_x image; d_y windows; summed in S, rounded once
template <class T>
struct MaxWindowsBackward final {
  static constexpr const char* name = "max_windows_backward";
  View<T> x, d_y, d_x;
  Windows windows;

  constexpr Cost cost() const {
    return {windows.views() * double(windows.size * windows.size),
            (2 * windows.numbers() + windows.small_numbers()) * sizeof(T), 1};
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
