// regimen/kernel/rotary.hpp — rotary position embeddings.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::kernel {

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
