// regimen/engine/cpu/batch_norm.hpp — normalisation over a batch, forward and backward; the mean of ranks.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::cpu {

namespace detail {

/// body.operator()<k>(column, count): strips of k registers of columns, so that a row is read in whole cache lines.
template <class S, class Body>
void for_each_strip(std::size_t columns, const Body& body) {
  constexpr std::size_t together = 4;
  std::size_t i = 0;
  for (; i + together * lanes<S> <= columns; i += together * lanes<S>) body.template operator()<together>(i, Whole{});
  for_each_vector<S>(i, columns, [&](std::size_t j, auto n) { body.template operator()<std::size_t{1}>(j, n); });
}

}  // namespace detail

template <class T, class B>
void compute(const op::BatchNorm<T, B>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const T *const x = at(o.x), *const gain = at(o.gain), *const bias = at(o.bias);
  T* const y = at(o.y);
  B *const running_mean = at(o.running_mean), *const running_variance = at(o.running_variance);
  const std::size_t columns = o.columns;
  const op::RowChunks chunks = o.chunks();
  const S epsilon = static_cast<S>(o.epsilon), momentum = static_cast<S>(o.momentum);
  S* const scratch = at(View<S>{at.scratch});
  S *means = scratch, *rstds = scratch + columns;
  if (o.uses_running) {
    for (std::size_t i = 0; i < columns; ++i) {
      means[i] = static_cast<S>(running_mean[i]);
      rstds[i] = S(1) / std::sqrt(static_cast<S>(running_variance[i]) + epsilon);
    }
  } else {
    S* const partial = scratch;
    means = at(o.mean);
    rstds = at(o.rstd);
    for_chunks(o.rows * columns, chunks.count(), [&](std::size_t chunk) {
      S *const own_means = partial + chunk * 2 * columns, *const own_squares = own_means + columns;
      const std::size_t first = chunks.begin(chunk), last = chunks.begin(chunk + 1);
      const S share = first < last ? S(1) / static_cast<S>(last - first) : S(0);
      detail::for_each_strip<S>(columns, [&]<std::size_t k>(std::size_t i, auto n) {
        V mean[k], squares[k];
        for (std::size_t r = 0; r < k; ++r) mean[r] = squares[r] = S(0);
        for (std::size_t row = first; row < last; ++row)
          for (std::size_t r = 0; r < k; ++r) mean[r] += load<S>(x + row * columns + i + r * lanes<S>, n);
        for (std::size_t r = 0; r < k; ++r) mean[r] = mean[r] * share;
        for (std::size_t row = first; row < last; ++row)
          for (std::size_t r = 0; r < k; ++r) {
            const V d = load<S>(x + row * columns + i + r * lanes<S>, n) - mean[r];
            squares[r] = multiply_add(d, d, squares[r]);
          }
        for (std::size_t r = 0; r < k; ++r) {
          store(mean[r], own_means + i + r * lanes<S>, n);
          store(squares[r], own_squares + i + r * lanes<S>, n);
        }
      });
    });
    const S share = o.rows > 0 ? S(1) / static_cast<S>(o.rows) : S(0),
            unbiased = o.rows > 1 ? S(1) / static_cast<S>(o.rows - 1) : S(0);
    for (std::size_t i = 0; i < columns; ++i) {
      S mean = partial[i], squares = partial[columns + i];
      for (std::size_t chunk = 1; chunk < chunks.count(); ++chunk) {
        const S before = static_cast<S>(chunks.begin(chunk)), all = static_cast<S>(chunks.begin(chunk + 1)),
                here = all - before, delta = partial[chunk * 2 * columns + i] - mean;
        mean += delta * (here / all);
        squares += partial[(chunk * 2 + 1) * columns + i] + delta * delta * (before * here / all);
      }
      means[i] = mean;
      rstds[i] = S(1) / std::sqrt(squares * share + epsilon);
      if (!o.moves || o.rows == 0 || !is_finite(mean) || !is_finite(squares)) continue;
      const S old_mean = static_cast<S>(running_mean[i]), old_variance = static_cast<S>(running_variance[i]);
      running_mean[i] = static_cast<B>(old_mean + momentum * (mean - old_mean));
      if (o.rows > 1)
        running_variance[i] = static_cast<B>(old_variance + momentum * (squares * unbiased - old_variance));
    }
  }
  for_rows(o.rows, columns, [&](std::size_t row, std::size_t begin, std::size_t end) {
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) {
      const V normal = (load<S>(x + row * columns + i, n) - load<S>(means + i, n)) * load<S>(rstds + i, n);
      store(multiply_add(normal, load<S>(gain + i, n), load<S>(bias + i, n)), y + row * columns + i, n);
    });
  });
}

template <class T, class G>
void compute(const op::BatchNormBackward<T, G>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const T *const x = at(o.x), *const gain = at(o.gain), *const d_y = at(o.d_y);
  T* const d_x = at.optional(o.d_x);
  const S *const means = at(o.mean), *const rstds = at(o.rstd);
  G *const d_gain = at.optional(o.d_gain), *const d_bias = at.optional(o.d_bias);
  const std::size_t columns = o.columns;
  const op::RowChunks chunks = o.chunks();
  S* const partial = at(View<S>{at.scratch});
  for_chunks(o.rows * columns, chunks.count(), [&](std::size_t chunk) {
    S *const own_d = partial + chunk * 2 * columns, *const own_dn = own_d + columns;
    const std::size_t first = chunks.begin(chunk), last = chunks.begin(chunk + 1);
    detail::for_each_strip<S>(columns, [&]<std::size_t k>(std::size_t i, auto n) {
      V sum_d[k], sum_dn[k], mean[k], rstd[k];
      for (std::size_t r = 0; r < k; ++r) {
        sum_d[r] = sum_dn[r] = S(0);
        mean[r] = load<S>(means + i + r * lanes<S>, n);
        rstd[r] = load<S>(rstds + i + r * lanes<S>, n);
      }
      for (std::size_t row = first; row < last; ++row)
        for (std::size_t r = 0; r < k; ++r) {
          const std::size_t place = row * columns + i + r * lanes<S>;
          const V d = load<S>(d_y + place, n);
          sum_d[r] += d;
          sum_dn[r] = multiply_add(d, (load<S>(x + place, n) - mean[r]) * rstd[r], sum_dn[r]);
        }
      for (std::size_t r = 0; r < k; ++r) {
        store(sum_d[r], own_d + i + r * lanes<S>, n);
        store(sum_dn[r], own_dn + i + r * lanes<S>, n);
      }
    });
  });
  S *const mean_d = partial + chunks.count() * 2 * columns, *const mean_dn = mean_d + columns;
  const S share = o.rows > 0 ? S(1) / static_cast<S>(o.rows) : S(0);
  for_each_vector<S>(0, columns, [&](std::size_t i, auto n) {
    V sum_d = load<S>(partial + i, n), sum_dn = load<S>(partial + columns + i, n);
    for (std::size_t chunk = 1; chunk < chunks.count(); ++chunk) {
      sum_d += load<S>(partial + chunk * 2 * columns + i, n);
      sum_dn += load<S>(partial + (chunk * 2 + 1) * columns + i, n);
    }
    if (d_gain != nullptr) {
      store(o.add ? load<S>(d_gain + i, n) + sum_dn : sum_dn, d_gain + i, n);
      store(o.add ? load<S>(d_bias + i, n) + sum_d : sum_d, d_bias + i, n);
    }
    store(sum_d * share, mean_d + i, n);
    store(sum_dn * share, mean_dn + i, n);
  });
  if (d_x == nullptr) return;
  for_rows(o.rows, columns, [&](std::size_t row, std::size_t begin, std::size_t end) {
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) {
      const std::size_t place = row * columns + i;
      const V rstd = load<S>(rstds + i, n), normal = (load<S>(x + place, n) - load<S>(means + i, n)) * rstd,
              centered = load<S>(d_y + place, n) - load<S>(mean_d + i, n) - normal * load<S>(mean_dn + i, n);
      store(centered * (load<S>(gain + i, n) * rstd), d_x + place, n);
    });
  });
}

template <class T>
void compute(const op::MeanOfRanks<T>& o, const Memory& at) {
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const Vector<T> share = T(1) / static_cast<T>(o.ranks);
  sweep<T>(o.count, [&](std::size_t i, auto n) {
    Vector<T> sum = load<T>(x + i, n);
    for (std::size_t rank = 1; rank < o.ranks; ++rank) sum += load<T>(x + rank * o.count + i, n);
    store(sum * share, y + i, n);
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
