// tests/kernel/windows.cpp — windows of images that overlap, and images between pixels, by their definitions, on the CPU and
// as kernels in every order of threads.
#include "against_cpu.hpp"

#include <regimen/engine/cpu/body.hpp>
#include <regimen/engine/cpu/image.hpp>
#include <regimen/kernel/image.hpp>

#include <cmath>
#include <limits>

using namespace regimen;
using namespace test;

namespace {

// ResNet's stem; windows that leave pixels out, at the end and between them; padding alone on both sides of a line; one.
constexpr op::Windows shapes[] = {{2, 7, 6, 17, 3, 2, 1},   {1, 8, 5, 3, 2, 3, 0},
                                  {2, 1, 4, 5, 3, 1, 2},    {3, 4, 4, 2, 4, 1, 0},
                                  {1, 2, 3, 33, 1, 1, 0},   {2, 8, 12, 5, 2, 4, 0, 1},  // the middle of each 4 x 4
                                  {1, 9, 6, 18, 1, 3, 0, 1}};
constexpr std::size_t bytes = std::size_t{1} << 18;

/// f(window, pixel) for all windows and what they see, by signed places: nothing of the library's own counting.
template <class F>
void for_all(const op::Windows& w, const F& f) {
  const auto along = [&](std::size_t extent) {
    long places = 0;
    while (places * long(w.stride) + long(w.skip + w.size) <= long(extent + 2 * w.padding)) ++places;
    return places;
  };
  std::size_t window = 0;
  for (std::size_t s = 0; s < w.samples; ++s)
    for (long a = 0; a < along(w.height); ++a)
      for (long b = 0; b < along(w.width); ++b, ++window)
        for (long r = 0; r < long(w.size); ++r)
          for (long c = 0; c < long(w.size); ++c) {
            const long before = long(w.padding) - long(w.skip), i = a * long(w.stride) + r - before,
                       j = b * long(w.stride) + c - before;
            if (i >= 0 && j >= 0 && i < long(w.height) && j < long(w.width))
              f(window, (s * w.height + std::size_t(i)) * w.width + std::size_t(j));
          }
  CHECK(window == w.count());
}
template <class T>
void near(const Values& found, const Values& wanted, const Values& sizes, double roundings) {
  std::size_t wrong = found.size() != wanted.size();
  for (std::size_t i = 0; i < found.size() && i < wanted.size(); ++i)
    if (!(std::abs(found[i] - wanted[i]) <=
          roundings * (sizeof(statistic_t<T>) == 8 ? 0x1p-53 : 0x1p-24) * sizes[i] + rounding_of<T>(wanted[i])) &&
        wrong++ == 0)
      UNSCOPED_INFO("element " << i << ": " << found[i] << " instead of " << wanted[i]);
  CHECK(wrong == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("windows are summed and spread", "", float, double, bf16) {
  using T = TestType;
  for (const op::Windows& w : shapes) {
    CAPTURE(w.height, w.width, w.columns, w.size, w.stride, w.padding, w.skip);
    const std::size_t columns = w.columns, large = w.pixels() * columns, small = w.count() * columns;
    const Values x = values<T>(large), d = values<T>(small, 3, 2);
    Values sums(small), sizes(small), spread(large), sizes_spread(large);
    for_all(w, [&](std::size_t window, std::size_t pixel) {
      for (std::size_t c = 0; c < columns; ++c) {
        const std::size_t to = window * columns + c, at = pixel * columns + c;
        sums[to] += x[at] / 4, sizes[to] += std::abs(x[at]) / 4;
        spread[at] += d[to] / 4, sizes_spread[at] += std::abs(d[to]) / 4;
      }
    });
    by_definition(
        bytes, [&](Arena& arena) { return op::SumWindows<T>{arena.put<T>(x), arena.room<T>(small), w, 0.25}; },
        [&](const Arena& arena, const auto& o) { near<T>(arena.get(o.y, small), sums, sizes, 16); });
    by_definition(
        bytes, [&](Arena& arena) { return op::SpreadWindows<T>{arena.put<T>(d), arena.room<T>(large), w, 0.25}; },
        [&](const Arena& arena, const auto& o) { near<T>(arena.get(o.y, large), spread, sizes_spread, 16); });
  }
}
TEMPLATE_TEST_CASE("the largest pixels of windows, and where their gradients go", "", float, double, bf16) {
  using T = TestType;
  for (const op::Windows& w : shapes) {
    CAPTURE(w.height, w.width, w.columns, w.size, w.stride, w.padding, w.skip);
    const std::size_t columns = w.columns, large = w.pixels() * columns, small = w.count() * columns;
    Values x = integers<T>(large);  // many are equal
    if (large > 40) x[40] = std::numeric_limits<double>::quiet_NaN();
    const Values d = values<T>(small, 3, 2);
    Values largest(small);
    std::vector<std::size_t> chosen(small, large);
    for_all(w, [&](std::size_t window, std::size_t pixel) {
      for (std::size_t c = 0; c < columns; ++c) {
        const std::size_t to = window * columns + c, at = pixel * columns + c;
        if (chosen[to] == large || x[at] > largest[to] || std::isnan(x[at])) largest[to] = x[at], chosen[to] = at;
      }
    });
    Values d_x(large), sizes(large);
    for (std::size_t to = 0; to < small; ++to) d_x[chosen[to]] += d[to], sizes[chosen[to]] += std::abs(d[to]);
    by_definition(
        bytes, [&](Arena& arena) { return op::MaxWindows<T>{arena.put<T>(x), arena.room<T>(small), w}; },
        [&](const Arena& arena, const auto& o) {
          const Values y = arena.get(o.y, small);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < small; ++i)
            wrong += !(y[i] == largest[i] || (std::isnan(y[i]) && std::isnan(largest[i])));
          CHECK(wrong == 0);
        });
    by_definition(
        bytes,
        [&](Arena& arena) {
          return op::MaxWindowsBackward<T>{arena.put<T>(x), arena.put<T>(d), arena.room<T>(large), w};
        },
        [&](const Arena& arena, const auto& o) { near<T>(arena.get(o.d_x, large), d_x, sizes, 9); });
  }
}
TEMPLATE_TEST_CASE("images between pixels, and what each pixel has in them", "", float, double, bf16) {
  using T = TestType;
  constexpr op::Squares squares[] = {
      {2, 3, 4, 17, 2}, {1, 4, 2, 3, 3}, {1, 1, 5, 2, 4}, {2, 2, 1, 1, 1}, {1, 3, 3, 2, 5}};
  for (const op::Squares& q : squares) {
    CAPTURE(q.height, q.width, q.columns, q.size);
    const std::size_t columns = q.columns, small = q.count() * columns, large = small * q.size * q.size;
    const Values x = values<T>(small), d = values<T>(large, 3, 2);
    Values y(large), sizes(large), d_x(small), sizes_d(small);
    /// f(weight, index) of the two places between which `i` lies
    const auto between = [&](std::size_t i, std::size_t extent, const auto& f) {
      const double at = std::min(std::max((double(i) + 0.5) / double(q.size) - 0.5, 0.0), double(extent - 1));
      const std::size_t first = std::size_t(at);
      f(1 - (at - double(first)), first);
      if (first + 1 < extent) f(at - double(first), first + 1);
    };
    std::size_t pixel = 0;
    for (std::size_t s = 0; s < q.samples; ++s)
      for (std::size_t i = 0; i < q.height * q.size; ++i)
        for (std::size_t j = 0; j < q.width * q.size; ++j, ++pixel)
          between(i, q.height, [&](double of_line, std::size_t line) {
            between(j, q.width, [&](double of_column, std::size_t column) {
              for (std::size_t c = 0; c < columns; ++c) {
                const std::size_t at = ((s * q.height + line) * q.width + column) * columns + c,
                                  to = pixel * columns + c;
                y[to] += of_line * of_column * x[at], sizes[to] += of_line * of_column * std::abs(x[at]);
                d_x[at] += of_line * of_column * d[to], sizes_d[at] += of_line * of_column * std::abs(d[to]);
              }
            });
          });
    by_definition(
        bytes, [&](Arena& arena) { return op::Interpolate<T>{arena.put<T>(x), arena.room<T>(large), q}; },
        [&](const Arena& arena, const auto& o) { near<T>(arena.get(o.y, large), y, sizes, 8); });
    by_definition(
        bytes, [&](Arena& arena) { return op::InterpolateBackward<T>{arena.put<T>(d), arena.room<T>(small), q}; },
        [&](const Arena& arena, const auto& o) {
          near<T>(arena.get(o.d_x, small), d_x, sizes_d, 4 * double(q.size) + 8);
        });
  }
}
// SPDX-License-Identifier: Apache-2.0
