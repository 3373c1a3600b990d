// regimen/kernel/sinusoids.hpp — positions as sines and cosines: added, or by which pairs of channels are rotated.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>

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

/// A thread takes a pair of channels of one position, in all heads: it computes one sine and one cosine, in fp64.
///
/// error   that of RotaryFrequencies; cosine, sine, products and their sum are rounded to S, and once to T
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::Rotate<T>& o, Launch<0>) {
  return o.shape.batch * o.shape.length * (o.shape.width / 2);
}
template <class T>
REGIMEN_HD void compute(const op::Rotate<T>& o, const Memory& at, std::size_t piece, Launch<0>) {
  using S = statistic_t<T>;
  const op::AttentionShape& s = o.shape;
  const std::size_t half = s.width / 2, turned = s.heads + s.of_keys(), all = s.all_heads();
  const std::size_t row = piece / half, i = piece % half;
  const double angle = static_cast<double>(o.first + row % s.length) * o.frequencies(i, s.width);
  const S cosine = static_cast<S>(std::cos(angle)),
          sine = static_cast<S>(o.inverse ? -std::sin(angle) : std::sin(angle));
  const T* const x = at(o.x) + row * all * s.width + i;
  T* const y = at(o.y) + row * all * s.width + i;
  for (std::size_t head = 0; head < turned; ++head) {
    const S a = static_cast<S>(x[head * s.width]), c = static_cast<S>(x[head * s.width + half]);
    y[head * s.width] = static_cast<T>(a * cosine - c * sine);
    y[head * s.width + half] = static_cast<T>(c * cosine + a * sine);
  }
  if (o.x.offset == o.y.offset) return;
  for (std::size_t head = turned; head < all; ++head) {
    y[head * s.width] = x[head * s.width];
    y[head * s.width + half] = x[head * s.width + half];
  }
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
