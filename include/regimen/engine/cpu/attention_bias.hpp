// regimen/engine/cpu/attention_bias.hpp — what distances add to the scores of attention, and its gradient.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cstddef>

namespace regimen::cpu {

template <class S>
void compute(const op::AlibiBias<S>& o, const Memory& at) {
  S* const bias = at(o.bias);
  for_chunks(o.heads * o.distances, o.heads, [&](std::size_t h) {
    for (std::size_t i = 0; i < o.distances; ++i) bias[h * o.distances + i] = o(h, i);
  });
}

template <class T>
void compute(const op::BucketBias<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const table = at(o.table);
  S* const bias = at(o.bias);
  for (std::size_t i = 0; i < o.distances; ++i) {
    const T* const row = table + o.buckets(i, o.length) * o.heads;
    for (std::size_t h = 0; h < o.heads; ++h) bias[h * o.distances + i] = static_cast<S>(row[h]);
  }
}

/// error   one sum in S for each number of the table, one rounding
template <class S, class G>
void compute(const op::BucketBiasBackward<S, G>& o, const Memory& at) {
  const S* const d_bias = at(o.d_bias);
  G* const d_table = at(o.d_table);
  for_chunks(o.batch * o.heads * o.distances, o.heads * o.buckets.count, [&](std::size_t place) {
    const auto range = o.buckets.range(place / o.heads, o.length);
    S sum = S(0);
    for (std::size_t row = place % o.heads; row < o.batch * o.heads; row += o.heads)
      for (std::size_t i = range.begin; i < range.end; ++i) sum += d_bias[row * o.distances + i];
    d_table[place] = static_cast<G>(o.add ? static_cast<S>(d_table[place]) + sum : sum);
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
