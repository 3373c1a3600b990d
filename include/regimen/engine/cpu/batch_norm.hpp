// regimen/engine/cpu/batch_norm.hpp — normalisation over a batch, forward and backward; the mean of ranks.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/column_statistics.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::cpu {

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
      detail::means_and_squares(x, columns, chunks.begin(chunk), chunks.begin(chunk + 1),
                                partial + chunk * 2 * columns);
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
    detail::sums_of_gradients(x, d_y, means, rstds, columns, chunks.begin(chunk), chunks.begin(chunk + 1),
                              partial + chunk * 2 * columns);
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
