// regimen/core/operation/sinusoids.hpp — the operation of sinusoidal positions.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::op {

/// y[b,t,2i] = x[b,t,2i] + sin a,   y[b,t,2i+1] = x[b,t,2i+1] + cos a,   a = (first + t) · 10000^(−2i/C)
///   x, y (samples,length,C), which may be the same memory; an odd C ends with a sine
///   sines_first   all sines, then all cosines: y[b,t,i] has the sine of a, y[b,t,⌈C/2⌉+i] its cosine
///
/// error   fp64: at position p an angle is off by at most p · 2^−51; sines are rounded to S, the sum once to T
template <class T>
struct AddSinusoids final {
  static constexpr const char* name = "add_sinusoids";
  View<T> x, y;
  std::size_t samples = 0, length = 0, columns = 0, first = 0;
  bool sines_first = false;

  REGIMEN_HD constexpr std::size_t pairs() const { return (columns + 1) / 2; }
  /// Where a pair's sine and cosine lie in a row; an odd C has no last cosine.
  REGIMEN_HD constexpr std::size_t sine(std::size_t pair) const { return sines_first ? pair : 2 * pair; }
  REGIMEN_HD constexpr std::size_t cosine(std::size_t pair) const { return sine(pair) + (sines_first ? pairs() : 1); }
  REGIMEN_HD double angle(std::size_t t, std::size_t pair) const {
    return static_cast<double>(first + t) *
           std::pow(10'000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(columns));
  }
  constexpr Cost cost() const {
    const double elements = double(samples * length * columns);
    return {elements, 2 * elements * sizeof(T), 1};
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
