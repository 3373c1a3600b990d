// regimen/kernel/windows.hpp — windows of images: a thread takes a channel of a window or of a pixel, neighbours read
// neighbours.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>

#include <cstddef>

namespace regimen::kernel {

template <class T>
struct Kernel<op::SumWindows<T>> final {
  static constexpr unsigned threads = 256;
  using S = statistic_t<T>;
  op::SumWindows<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.windows.count() * o.windows.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t columns = o.windows.columns;
    for_pieces(block, o.windows.count() * columns, [&](std::size_t i) {
      S sum = 0;
      o.windows.for_pixels(i / columns,
                           [&](std::size_t pixel) { sum += static_cast<S>(at(o.x)[pixel * columns + i % columns]); });
      at(o.y)[i] = static_cast<T>(sum * static_cast<S>(o.scale));
    });
  }
};

template <class T>
struct Kernel<op::SpreadWindows<T>> final {
  static constexpr unsigned threads = 256;
  using S = statistic_t<T>;
  op::SpreadWindows<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.windows.pixels() * o.windows.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t columns = o.windows.columns;
    for_pieces(block, o.windows.pixels() * columns, [&](std::size_t i) {
      S sum = 0;
      o.windows.for_windows(
          i / columns, [&](std::size_t window) { sum += static_cast<S>(at(o.x)[window * columns + i % columns]); });
      at(o.y)[i] = static_cast<T>(sum * static_cast<S>(o.scale));
    });
  }
};

namespace detail {

/// The largest pixel that a window sees in a channel, and which of the image's pixels it is.
template <class S, class T>
struct LargestSeen {
  S value;
  std::size_t pixel;

  REGIMEN_HD LargestSeen(const op::Windows& windows, const T* x, std::size_t window, std::size_t channel)
      : value(0), pixel(~std::size_t{0}) {
    windows.for_pixels(window, [&](std::size_t other) {
      const S next = static_cast<S>(x[other * windows.columns + channel]);
      if (pixel != ~std::size_t{0} && !(next > value) && next == next) return;
      value = next;
      pixel = other;
    });
  }
};

}  // namespace detail

template <class T>
struct Kernel<op::MaxWindows<T>> final {
  static constexpr unsigned threads = 256;
  op::MaxWindows<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.windows.count() * o.windows.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t columns = o.windows.columns;
    for_pieces(block, o.windows.count() * columns, [&](std::size_t i) {
      const detail::LargestSeen<statistic_t<T>, T> largest(o.windows, at(o.x), i / columns, i % columns);
      at(o.y)[i] = static_cast<T>(largest.value);
    });
  }
};

template <class T>
struct Kernel<op::MaxWindowsBackward<T>> final {
  static constexpr unsigned threads = 256;
  using S = statistic_t<T>;
  op::MaxWindowsBackward<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.windows.pixels() * o.windows.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t columns = o.windows.columns;
    for_pieces(block, o.windows.pixels() * columns, [&](std::size_t i) {
      const std::size_t pixel = i / columns, channel = i % columns;
      S sum = 0;
      o.windows.for_windows(pixel, [&](std::size_t window) {
        if (detail::LargestSeen<S, T>(o.windows, at(o.x), window, channel).pixel == pixel)
          sum += static_cast<S>(at(o.d_y)[window * columns + channel]);
      });
      at(o.d_x)[i] = static_cast<T>(sum);
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
