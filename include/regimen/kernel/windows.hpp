// regimen/kernel/windows.hpp — windows of images, which may overlap: a lane takes channels of a window or of a pixel.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/body.hpp>

#include <cstddef>

#if defined(__CUDACC__) && !defined(REGIMEN_HD_CHECKED)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20011, 20014  // as kernel/body.hpp
#endif

namespace regimen::kernel {

template <class T>
struct Body<op::SumWindows<T>> final {
  using Number = statistic_t<T>;
  op::Windows windows;
  const T* x;
  T* y;
  Number scale;

  REGIMEN_HD Body(const op::SumWindows<T>& o, const auto& at)
      : windows(o.windows), x(at(o.x)), y(at(o.y)), scale(static_cast<Number>(o.scale)) {}
  REGIMEN_HD constexpr Extent extent() const { return {windows.count(), windows.columns}; }
  REGIMEN_HD void operator()(std::size_t window, const auto& lane) const {
    auto sum = lane.number(0);
    windows.for_pixels(window, [&](std::size_t pixel) { sum += lane.load(x, pixel); });
    lane.store(sum * lane.number(scale), y, window);
  }
};

template <class T>
struct Body<op::SpreadWindows<T>> final {
  using Number = statistic_t<T>;
  op::Windows windows;
  const T* x;
  T* y;
  Number scale;

  REGIMEN_HD Body(const op::SpreadWindows<T>& o, const auto& at)
      : windows(o.windows), x(at(o.x)), y(at(o.y)), scale(static_cast<Number>(o.scale)) {}
  REGIMEN_HD constexpr Extent extent() const { return {windows.pixels(), windows.columns}; }
  REGIMEN_HD void operator()(std::size_t pixel, const auto& lane) const {
    auto sum = lane.number(0);
    windows.for_windows(pixel, [&](std::size_t window) { sum += lane.load(x, window); });
    lane.store(sum * lane.number(scale), y, pixel);
  }
};

template <class T>
struct Body<op::MaxWindows<T>> final {
  using Number = statistic_t<T>;
  op::Windows windows;
  const T* x;
  T* y;

  REGIMEN_HD Body(const op::MaxWindows<T>& o, const auto& at) : windows(o.windows), x(at(o.x)), y(at(o.y)) {}
  REGIMEN_HD constexpr Extent extent() const { return {windows.count(), windows.columns}; }
  REGIMEN_HD void operator()(std::size_t window, const auto& lane) const {
    auto largest = detail::LargestSeen{lane.number(0), lane.number(0)};
    windows.for_pixels(window, [&](std::size_t pixel) { largest.look(lane, lane.load(x, pixel)); });
    lane.store(largest.value, y, window);
  }
};

template <class T>
struct Body<op::MaxWindowsBackward<T>> final {
  using Number = statistic_t<T>;
  op::Windows windows;
  const T *x, *d_y;
  T* d_x;

  REGIMEN_HD Body(const op::MaxWindowsBackward<T>& o, const auto& at)
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

}  // namespace regimen::kernel

#if defined(__CUDACC__) && !defined(REGIMEN_HD_CHECKED)
#pragma nv_diagnostic pop
#endif
// SPDX-License-Identifier: Apache-2.0
