// regimen/kernel/sinusoids.hpp — sinusoidal positions.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::kernel {

/// A thread takes a pair of channels of one position, in all samples: it computes one sine and one cosine, in fp64.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::AddSinusoids<T>& o, Launch<0>) {
  return o.length * o.pairs();
}
template <class T>
REGIMEN_HD void compute(const op::AddSinusoids<T>& o, const Memory& at, std::size_t piece, Launch<0>) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const std::size_t of_row = o.pairs(), sample = o.length * o.columns;
  const std::size_t t = piece / of_row, pair = piece % of_row, of_sine = o.sine(pair), of_cosine = o.cosine(pair);
  const double angle = o.angle(t, pair);
  const S sine = static_cast<S>(std::sin(angle)), cosine = static_cast<S>(std::cos(angle));
  for (std::size_t row = t * o.columns; row < o.samples * sample; row += sample) {
    y[row + of_sine] = static_cast<T>(static_cast<S>(x[row + of_sine]) + sine);
    if (of_cosine < o.columns) y[row + of_cosine] = static_cast<T>(static_cast<S>(x[row + of_cosine]) + cosine);
  }
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
