// regimen/engine/cpu/sinusoids.hpp — sinusoidal positions.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace regimen::cpu {

/// A sine and a cosine are computed once for each position, in fp64, for all samples.
template <class T>
void compute(const op::AddSinusoids<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const std::size_t sample = o.length * o.columns, chunks = (std::min)(chunks_of(o.samples * sample), o.length);
  parallel_for(chunks, [&](std::size_t chunk) {
    for (std::size_t t = part_begin(o.length, chunks, chunk); t < part_begin(o.length, chunks, chunk + 1); ++t)
      for (std::size_t pair = 0; pair < o.pairs(); ++pair) {
        const double angle = o.angle(t, pair);
        const S sine = static_cast<S>(std::sin(angle)), cosine = static_cast<S>(std::cos(angle));
        const std::size_t of_sine = o.sine(pair), of_cosine = o.cosine(pair);
        for (std::size_t row = t * o.columns; row < o.samples * sample; row += sample) {
          y[row + of_sine] = static_cast<T>(static_cast<S>(x[row + of_sine]) + sine);
          if (of_cosine < o.columns) y[row + of_cosine] = static_cast<T>(static_cast<S>(x[row + of_cosine]) + cosine);
        }
      }
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
