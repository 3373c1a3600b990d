// regimen/engine/cpu/windows.hpp — windows of images, which may overlap.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/image.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cstddef>

namespace regimen::cpu {

namespace detail {

/// The largest pixel that a window sees, and the pixel's number among them.
template <class S, class T>
struct LargestSeen {
  const T* x;
  std::size_t columns;
  Vector<S> value = S(0), place = S(0);
  std::size_t seen = 0;

  void look(std::size_t pixel, std::size_t i, auto n) {
    const Vector<S> other = load<S>(x + pixel * columns + i, n);
    if (seen == 0) {
      value = other;
    } else {
      const Mask<S> larger = is_larger(other, value);
      value = select(larger, other, value);
      place = select(larger, Vector<S>(static_cast<S>(seen)), place);
    }
    ++seen;
  }
};

}  // namespace detail

template <class T>
void compute(const op::SumWindows<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const op::Windows& windows = o.windows;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const Vector<S> scale = static_cast<S>(o.scale);
  for_rows(windows.count(), windows.columns, [&](std::size_t window, std::size_t begin, std::size_t end) {
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) {
      Vector<S> sum = S(0);
      windows.for_pixels(window, [&](std::size_t pixel) { sum += load<S>(x + pixel * windows.columns + i, n); });
      store(sum * scale, y + window * windows.columns + i, n);
    });
  });
}

template <class T>
void compute(const op::SpreadWindows<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const op::Windows& windows = o.windows;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const Vector<S> scale = static_cast<S>(o.scale);
  for_rows(windows.pixels(), windows.columns, [&](std::size_t pixel, std::size_t begin, std::size_t end) {
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) {
      Vector<S> sum = S(0);
      windows.for_windows(pixel, [&](std::size_t window) { sum += load<S>(x + window * windows.columns + i, n); });
      store(sum * scale, y + pixel * windows.columns + i, n);
    });
  });
}

template <class T>
void compute(const op::MaxWindows<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const op::Windows& windows = o.windows;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  for_rows(windows.count(), windows.columns, [&](std::size_t window, std::size_t begin, std::size_t end) {
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) {
      detail::LargestSeen<S, T> largest{x, windows.columns};
      windows.for_pixels(window, [&](std::size_t pixel) { largest.look(pixel, i, n); });
      store(largest.value, y + window * windows.columns + i, n);
    });
  });
}

template <class T>
void compute(const op::MaxWindowsBackward<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const op::Windows& windows = o.windows;
  const T *const x = at(o.x), *const d_y = at(o.d_y);
  T* const d_x = at(o.d_x);
  for_rows(windows.pixels(), windows.columns, [&](std::size_t pixel, std::size_t begin, std::size_t end) {
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) {
      Vector<S> sum = S(0);
      windows.for_windows(pixel, [&](std::size_t window) {
        detail::LargestSeen<S, T> largest{x, windows.columns};
        std::size_t own = 0;
        windows.for_pixels(window, [&](std::size_t other) {
          if (other == pixel) own = largest.seen;
          largest.look(other, i, n);
        });
        const Mask<S> is_it = largest.place == Vector<S>(static_cast<S>(own));
        sum += select(is_it, load<S>(d_y + window * windows.columns + i, n), Vector<S>(S(0)));
      });
      store(sum, d_x + pixel * windows.columns + i, n);
    });
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
