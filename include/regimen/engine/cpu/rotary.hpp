// regimen/engine/cpu/rotary.hpp — rotary position embeddings.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/attention_tile.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace regimen::cpu {

/// Sines and cosines are computed once for each position, in fp64, for all samples and heads.
///
/// error   that of RotaryFrequencies; cosine, sine, products and their sum are rounded to S, and once to T
template <class T>
void compute(const op::Rotate<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  constexpr std::size_t most = op::AttentionShape::largest_width / 2;
  detail::check_head(o.shape.width);
  const op::AttentionShape& s = o.shape;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const std::size_t half = s.width / 2, turned = s.heads + s.of_keys(), row = s.all_heads() * s.width;
  std::array<double, most> frequency;
  for (std::size_t i = 0; i < half; ++i) frequency[i] = o.frequencies(i, s.width);
  for_each_of(s.length, s.batch * row, [&](std::size_t t) {
    alignas(64) std::array<S, most> cosine, sine;
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(o.first + t) * frequency[i];
      cosine[i] = static_cast<S>(std::cos(angle));
      sine[i] = static_cast<S>(o.inverse ? -std::sin(angle) : std::sin(angle));
    }
    for (std::size_t b = 0; b < s.batch; ++b) {
      const std::size_t begin = (b * s.length + t) * row;
      for (std::size_t head = 0; head < turned; ++head) {
        const T *const low = x + begin + head * s.width, *const high = low + half;
        T* const to = y + begin + head * s.width;
        for_each_vector<S>(0, half, [&](std::size_t i, auto n) {
          const Vector<S> a = load<S>(low + i, n), c = load<S>(high + i, n), cos = load<S>(cosine.data() + i, n),
                          sin = load<S>(sine.data() + i, n);
          store<S>(a * cos - c * sin, to + i, n);
          store<S>(c * cos + a * sin, to + half + i, n);
        });
      }
      if (x != y)
        std::memcpy(y + begin + turned * s.width, x + begin + turned * s.width, (row - turned * s.width) * sizeof(T));
    }
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
