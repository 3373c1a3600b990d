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
      for (std::size_t c = 0; c < o.columns; c += 2) {
        const double angle = o.angle(t, c / 2);
        const S sine = static_cast<S>(std::sin(angle)), cosine = static_cast<S>(std::cos(angle));
        for (std::size_t i = t * o.columns + c; i < o.samples * sample; i += sample) {
          y[i] = static_cast<T>(static_cast<S>(x[i]) + sine);
          if (c + 1 < o.columns) y[i + 1] = static_cast<T>(static_cast<S>(x[i + 1]) + cosine);
        }
      }
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
