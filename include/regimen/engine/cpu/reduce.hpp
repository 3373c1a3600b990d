// regimen/engine/cpu/reduce.hpp — the norm of a gradient.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/tree.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::cpu {
namespace detail {

using TreeSum = regimen::TreeSum<double>;

/// Σ x² of one chunk: on every machine sixteen interleaved sums, then their sum as a tree.
template <class G>
double square_sum(const G* from, std::size_t count) {
  constexpr std::size_t width = 16, registers = width / lanes<double>;
  using V = Vector<double>;
  V sums[registers];
  for (V& sum : sums) sum = 0.0;
  const auto add = [&](const auto* values) {
    for (std::size_t r = 0; r < registers; ++r) {
      const V value = load<double>(values + r * lanes<double>);
      sums[r] = multiply_add(value, value, sums[r]);
    }
  };
  const auto add_some = [&](const G* values, std::size_t some) {
    if constexpr (sizeof(G) == 2) {
      float exact[width] = {};
      for_each_vector<float>(0, some, [&](std::size_t i, auto n) { store(load<float>(values + i, n), exact + i, n); });
      add(exact);
    } else {
      G exact[width] = {};
      for (std::size_t i = 0; i < some; ++i) exact[i] = values[i];
      add(exact);
    }
  };
  std::size_t i = 0;
  for (; i + width <= count; i += width) {
    if constexpr (sizeof(G) == 2) add_some(from + i, width);
    else add(from + i);
  }
  if (i < count) add_some(from + i, count - i);
  for (std::size_t half = registers / 2; half > 0; half /= 2) {
    for (std::size_t r = 0; r < half; ++r) sums[r] += sums[r + half];
  }
  return sum(sums[0]);
}

}  // namespace detail

template <class T>
void compute(const op::Zero<T>& o, const Memory& at) {
  T* const y = at(o.y);
  const std::size_t chunks = chunks_of(o.count);
  parallel_for(chunks, [&](std::size_t chunk) {
    const std::size_t end = part_begin(o.count, chunks, chunk + 1);
    for (std::size_t i = part_begin(o.count, chunks, chunk); i < end; ++i) y[i] = T(0.0f);
  });
}

/// Groups of 2^k chunks are subtrees of the tree over chunks, so cores sum groups without changing the result.
template <class G>
void compute(const op::SumOfSquares<G>& o, const Memory& at) {
  constexpr std::size_t chunk_size = 4096;
  const G* const gradient = at(o.gradient);
  const std::size_t chunks = (o.count + chunk_size - 1) / chunk_size;
  std::size_t at_once = grain / chunk_size;
  while (chunks > at_once * most_partials) at_once *= 2;
  double sums[most_partials];
  const std::size_t groups = (chunks + at_once - 1) / at_once;
  parallel_for(groups, [&](std::size_t group) {
    detail::TreeSum tree;
    const std::size_t end = chunks < (group + 1) * at_once ? chunks : (group + 1) * at_once;
    for (std::size_t chunk = group * at_once; chunk < end; ++chunk) {
      const std::size_t begin = chunk * chunk_size;
      tree.add(detail::square_sum(gradient + begin, o.count - begin < chunk_size ? o.count - begin : chunk_size));
    }
    sums[group] = tree.total();
  });
  detail::TreeSum tree;
  for (std::size_t group = 0; group < groups; ++group) tree.add(sums[group]);
  *at(o.sum) += tree.total();
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
