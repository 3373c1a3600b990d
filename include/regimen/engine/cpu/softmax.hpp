// regimen/engine/cpu/softmax.hpp — rows as distributions, and their gradients.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/math.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace regimen::cpu {

namespace detail {

/// body(row) for all rows.
template <class Body>
void for_whole_rows(std::size_t rows, std::size_t columns, const Body& body) {
  const std::size_t chunks = (std::min)(chunks_of(rows * columns), rows);
  parallel_for(chunks, [&](std::size_t chunk) {
    for (std::size_t row = part_begin(rows, chunks, chunk); row < part_begin(rows, chunks, chunk + 1); ++row) body(row);
  });
}

/// A NaN may be left out.
template <class T, class S = statistic_t<T>>
S largest_in(const T* from, std::size_t count) {
  Vector<S> most = -std::numeric_limits<S>::infinity();
  std::size_t i = 0;
  for (; i + lanes<S> <= count; i += lanes<S>) most = max(most, load<S>(from + i));
  S largest = maximum(most);
  for (; i < count; ++i) largest = static_cast<S>(from[i]) > largest ? static_cast<S>(from[i]) : largest;
  return largest;
}

}  // namespace detail

/// exp is computed twice, so that the sum is one of S whatever y is stored in.
template <class T>
void compute(const op::Softmax<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  detail::for_whole_rows(o.rows, o.columns, [&](std::size_t row) {
    const T* const from = x + row * o.columns;
    T* const to = y + row * o.columns;
    const S largest = detail::largest_in(from, o.columns);
    const S share = S(1) / sum_of<S>(o.columns, [&](std::size_t i, auto n) {
                      return zero_tail(exp(load<S>(from + i, n) - largest), n);
                    });
    for_each_vector<S>(0, o.columns,
                       [&](std::size_t i, auto n) { store(exp(load<S>(from + i, n) - largest) * share, to + i, n); });
  });
}

template <class T>
void compute(const op::SoftmaxBackward<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const T *const y = at(o.y), *const d_y = at(o.d_y);
  T* const d_x = at(o.d_x);
  detail::for_whole_rows(o.rows, o.columns, [&](std::size_t row) {
    const std::size_t first = row * o.columns;
    const V mean = sum_of<S>(o.columns, [&](std::size_t i, auto n) {
      return load<S>(y + first + i, n) * load<S>(d_y + first + i, n);  // 0 beyond a short register
    });
    for_each_vector<S>(0, o.columns, [&](std::size_t i, auto n) {
      store(load<S>(y + first + i, n) * (load<S>(d_y + first + i, n) - mean), d_x + first + i, n);
    });
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
