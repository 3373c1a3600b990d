// regimen/engine/cpu/norm.hpp — rows: layer and RMS normalisation and softmax, forward and backward.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/math.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>
#include <regimen/engine/cpu/traits.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::cpu {

/// y = (x − μ) · rstd · gain + bias over the columns of a row, rstd = 1 / √(mean((x − μ)²) + ε); not Centered: μ = 0,
/// and no bias. A thread takes whole rows.
///
/// Mean first, then the mean of (x − mean)²: no cancellation, whatever the mean.
template <bool Centered, class T>
void compute(const op::Normalize<Centered, T>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const T* const x = at(o.x);
  const T* const gain = at(o.gain);
  T* const y = at(o.y);
  S* const rstds = at(o.rstd);
  const T* bias = nullptr;
  S* means = nullptr;
  if constexpr (Centered) {
    bias = at(o.bias);
    means = at(o.mean);
  }
  const S scale = S(1) / static_cast<S>(o.columns);
  for_each_of(o.rows, o.columns, [&](std::size_t row) {
    const T* const from = x + row * o.columns;
    T* const to = y + row * o.columns;
    S mean = S(0);
    if constexpr (Centered) {
      mean = sum_of<S>(o.columns, [&](std::size_t i, auto n) { return load<S>(from + i, n); }) * scale;
      means[row] = mean;
    }
    const S variance = sum_of<S>(o.columns,
                                 [&](std::size_t i, auto n) {
                                   const V d = zero_tail(load<S>(from + i, n) - mean, n);
                                   return d * d;
                                 }) *
                       scale;
    const S rstd = S(1) / std::sqrt(variance + static_cast<S>(o.epsilon));
    rstds[row] = rstd;
    for_each_vector<S>(0, o.columns, [&](std::size_t i, auto n) {
      const V normal = (load<S>(from + i, n) - mean) * rstd;
      if constexpr (Centered) store(multiply_add(normal, load<S>(gain + i, n), load<S>(bias + i, n)), to + i, n);
      else store(normal * load<S>(gain + i, n), to + i, n);
    });
  });
}

/// With n = (x − μ) · rstd and e = d_y · gain: d_x = (e − mean(e) − n · mean(e · n)) · rstd over the columns of a row,
/// without mean(e) if not Centered; d_gain = Σ d_y · n and d_bias = Σ d_y over the rows.
///
/// A chunk of rows adds what its rows give to d_gain and d_bias to sums of its own, (2,columns), while the row is in
/// the caches; the first row writes them. At the end the chunks' sums are added in their order. A row's two means have
/// two sums each, of registers in turn: one alone would wait for itself.
template <bool Centered, class T, class G>
void compute(const op::NormalizeBackward<Centered, T, G>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const T* const x = at(o.x);
  const T* const gain = at(o.gain);
  const T* const d_y = at(o.d_y);
  T* const d_x = at(o.d_x);
  const S* const rstds = at(o.rstd);
  const S* means = nullptr;
  if constexpr (Centered) means = at(o.mean);
  G* const d_gain = at.optional(o.d_gain);
  G* const d_bias = Centered ? at.optional(o.d_bias) : nullptr;
  S* const partial = d_gain == nullptr ? nullptr : at(View<S>{at.scratch});
  const std::size_t columns = o.columns, elements = o.rows * columns;
  const S scale = S(1) / static_cast<S>(columns);

  for_chunks(elements, norm_chunks, [&](std::size_t chunk) {
    S* const gains = partial == nullptr ? nullptr : partial + chunk * 2 * columns;
    S* const biases = gains == nullptr ? nullptr : gains + columns;
    const std::size_t first = part_begin(o.rows, norm_chunks, chunk), last = part_begin(o.rows, norm_chunks, chunk + 1);
    if (gains != nullptr && first == last) {
      for (std::size_t i = 0; i < 2 * columns; ++i) gains[i] = S(0);
    }
    for (std::size_t row = first; row < last; ++row) {
      const T* const x_row = x + row * columns;
      const T* const d_y_row = d_y + row * columns;
      T* const d_x_row = d_x + row * columns;
      const V rstd = rstds[row], mean = Centered ? means[row] : S(0);
      V sum_e[2] = {S(0), S(0)}, sum_en[2] = {S(0), S(0)};
      for_each_vector<S>(0, columns, [&](std::size_t i, auto n) {
        const V d = load<S>(d_y_row + i, n), normal = (load<S>(x_row + i, n) - mean) * rstd;
        const V e = d * load<S>(gain + i, n);  // 0 beyond a short register, as d is
        const std::size_t which = i / lanes<S> % 2;
        if constexpr (Centered) sum_e[which] += e;
        sum_en[which] = multiply_add(e, normal, sum_en[which]);
        if (gains != nullptr) {
          const V old = row == first ? V(S(0)) : load<S>(gains + i, n);
          store(multiply_add(d, normal, old), gains + i, n);
          if constexpr (Centered) store(row == first ? d : load<S>(biases + i, n) + d, biases + i, n);
        }
      });
      const V mean_e = sum(sum_e[0] + sum_e[1]) * scale, mean_en = sum(sum_en[0] + sum_en[1]) * scale;
      for_each_vector<S>(0, columns, [&](std::size_t i, auto n) {
        const V e = load<S>(d_y_row + i, n) * load<S>(gain + i, n), normal = (load<S>(x_row + i, n) - mean) * rstd;
        store((Centered ? e - mean_e - normal * mean_en : e - normal * mean_en) * rstd, d_x_row + i, n);
      });
    }
  });

  if (d_gain == nullptr) return;
  sum_terms(partial, norm_chunks, 2 * columns, d_gain, columns, o.add);
  if (d_bias != nullptr) sum_terms(partial + columns, norm_chunks, 2 * columns, d_bias, columns, o.add);
}

/// exp is computed twice, so that the sum is one of S whatever y is stored in.
template <class T>
void compute(const op::Softmax<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const T* const x = at(o.x);
  T* const y = at(o.y);
  for_each_of(o.rows, o.columns, [&](std::size_t row) {
    const T* const from = x + row * o.columns;
    T* const to = y + row * o.columns;
    const S largest = largest_of(from, o.columns);
    const S share = S(1) / sum_of<S>(o.columns, [&](std::size_t i, auto n) {
                      return zero_tail(exp(load<S>(from + i, n) - largest), n);
                    });
    for_each_vector<S>(0, o.columns,
                       [&](std::size_t i, auto n) { store(exp(load<S>(from + i, n) - largest) * share, to + i, n); });
  });
}

/// d_x = y · (d_y − Σ y · d_y), the sum over the columns of a row.
template <class T>
void compute(const op::SoftmaxBackward<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const T *const y = at(o.y), *const d_y = at(o.d_y);
  T* const d_x = at(o.d_x);
  for_each_of(o.rows, o.columns, [&](std::size_t row) {
    const std::size_t first = row * o.columns;
    const V mean = dot(y + first, d_y + first, o.columns);
    for_each_vector<S>(0, o.columns, [&](std::size_t i, auto n) {
      store(load<S>(y + first + i, n) * (load<S>(d_y + first + i, n) - mean), d_x + first + i, n);
    });
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
