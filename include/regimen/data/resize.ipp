// regimen/data/resize.ipp — the weights of resize.hpp.
#pragma once

#include <regimen/core/compiled.hpp>
#include <regimen/data/resize.hpp>

namespace regimen::data::detail {

REGIMEN_INLINE double filter_weight(Filter filter, double x) {
  x = std::abs(x);
  if (filter == Filter::Bilinear) return x < 1 ? 1 - x : 0;
  constexpr double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

REGIMEN_INLINE Taps::Taps(std::size_t from, std::size_t to, Filter filter) {
  const double scale = double(from) / double(to), stretch = (std::max)(scale, 1.0),
               reach = (filter == Filter::Bilinear ? 1 : 2) * stretch;
  std::vector<double> exact;
  runs.reserve(to);
  weight.reserve(to * static_cast<std::size_t>(2 * reach + 2));
  for (std::size_t i = 0; i < to; ++i) {
    const double center = (double(i) + 0.5) * scale;
    const std::size_t first = static_cast<std::size_t>((std::max)(0.0, center - reach + 0.5));
    const std::size_t end = (std::min)(from, static_cast<std::size_t>(center + reach + 0.5));
    exact.clear();
    double sum = 0;
    for (std::size_t x = first; x < end; ++x) {
      exact.push_back(filter_weight(filter, (double(x) + 0.5 - center) / stretch));
      sum += exact.back();
    }
    const std::size_t place = weight.size();
    std::int32_t rest = std::int32_t{1} << bits;
    for (const double value : exact) {
      weight.push_back(static_cast<std::int32_t>(std::lround(std::ldexp(value / sum, bits))));
      rest -= weight.back();
    }
    *std::max_element(weight.begin() + std::ptrdiff_t(place), weight.end()) += rest;
    while (weight.back() == 0) weight.pop_back();
    std::size_t zeros = 0;
    while (weight[place + zeros] == 0) ++zeros;
    runs.push_back({first + zeros, weight.size() - place - zeros, place + zeros});
  }
}

}  // namespace regimen::data::detail
// SPDX-License-Identifier: Apache-2.0
