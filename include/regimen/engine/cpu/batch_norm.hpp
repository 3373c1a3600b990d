// regimen/engine/cpu/batch_norm.hpp — normalisation over a batch, forward and backward; the mean of ranks.
//
// Chunks of rows are pieces of work, and the shape alone says where they begin: so the sums have one order, however
// many threads there are. n is (x − μ) · rstd, chunks hold two numbers for each column.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/column_sum.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::cpu {

namespace detail {

/// The moments of each chunk.   to (chunks,2,columns)
template <class S, class T>
void moments_of_chunks(const T* x, const op::RowChunks& chunks, S* to) {
  for_chunks(chunks.rows * chunks.columns, chunks.count(), [&](std::size_t chunk) {
    means_and_squares(x, chunks.columns, {chunks.begin(chunk), chunks.begin(chunk + 1)},
                      to + chunk * 2 * chunks.columns);
  });
}
/// The sums of d_y and d_y · n, by those of each chunk.   partial (chunks,2,columns); to (2,columns)
template <class S, class T>
void sums_by_chunks(const T* x, const T* d_y, const S* means, const S* rstds, const op::RowChunks& chunks, S* partial,
                    S* to) {
  const std::size_t columns = chunks.columns;
  for_chunks(chunks.rows * columns, chunks.count(), [&](std::size_t chunk) {
    sums_of_gradients(x, d_y, means, rstds, columns, {chunks.begin(chunk), chunks.begin(chunk + 1)},
                      partial + chunk * 2 * columns);
  });
  sum_terms(partial, chunks.count(), 2 * columns, to, 2 * columns, false);
}

}  // namespace detail

/// y (2,columns) and one number behind: means, squares around them, and how many rows this rank has. A rank with fewer
/// rows counts for less when they are joined.
template <class T>
void compute(const op::BatchMoments<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  const op::RowChunks chunks = o.chunks();
  S *const y = at(o.y), *const partial = at(View<S>{at.scratch});
  detail::moments_of_chunks(at(o.x), chunks, partial);
  for (std::size_t i = 0; i < o.columns; ++i) {
    const op::Moments<S> all = op::moments_of_chunks(partial, chunks, i);
    y[i] = all.mean;
    y[o.columns + i] = all.squares;
  }
  y[2 * o.columns] = static_cast<S>(o.rows);
}

/// y (2,columns) and one number behind: Σ d_y, Σ d_y · n, and how many rows this rank has.
template <class T>
void compute(const op::BatchSums<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  S* const y = at(o.y);
  detail::sums_by_chunks(at(o.x), at(o.d_y), at(o.mean), at(o.rstd), o.chunks(), at(View<S>{at.scratch}), y);
  y[2 * o.columns] = static_cast<S>(o.rows);
}

/// y = n · gain + bias. The statistics are the running ones; or those of this batch, by chunks; or those of all ranks,
/// whose moments are joined. rstd = 1 / √(Σ (x − μ)² / rows + ε). The running variance moves towards Σ (x − μ)² / (rows
/// − 1); no running statistic moves if a number is not finite, since it would never be finite again.
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
  S* const scratch = at.optional(View<S>{at.scratch});
  S *means = nullptr, *rstds = nullptr;
  if (o.uses_running) {
    means = o.mean.is_absent() ? scratch : at(o.mean);
    rstds = o.rstd.is_absent() ? scratch + columns : at(o.rstd);
    for (std::size_t i = 0; i < columns; ++i) {
      means[i] = static_cast<S>(running_mean[i]);
      rstds[i] = S(1) / std::sqrt(static_cast<S>(running_variance[i]) + epsilon);
    }
  } else {
    const S* const of_ranks = at.optional(o.of_ranks);
    means = at(o.mean);
    rstds = at(o.rstd);
    if (o.sums_rows()) detail::moments_of_chunks(x, chunks, scratch);
    for (std::size_t i = 0; i < columns; ++i) {
      const auto [rows, mean, squares] = of_ranks == nullptr ? op::moments_of_chunks(scratch, chunks, i)
                                                             : op::moments_of_ranks(of_ranks, o.ranks, columns, i);
      const S share = rows > S(0) ? S(1) / rows : S(0), unbiased = rows > S(1) ? S(1) / (rows - S(1)) : S(0);
      means[i] = mean;
      rstds[i] = S(1) / std::sqrt(squares * share + epsilon);
      if (!o.moves || rows == S(0) || !is_finite(mean) || !is_finite(squares)) continue;
      const S old_mean = static_cast<S>(running_mean[i]), old_variance = static_cast<S>(running_variance[i]);
      running_mean[i] = static_cast<B>(old_mean + momentum * (mean - old_mean));
      if (rows > S(1))
        running_variance[i] = static_cast<B>(old_variance + momentum * (squares * unbiased - old_variance));
    }
  }
  sweep_rows<S>(o.rows, columns, columns, [&](std::size_t i, std::size_t place, auto n) {
    const V normal = (load<S>(x + place, n) - load<S>(means + i, n)) * load<S>(rstds + i, n);
    store(multiply_add(normal, load<S>(gain + i, n), load<S>(bias + i, n)), y + place, n);
  });
}

/// d_bias = Σ d_y and d_gain = Σ d_y · n of this rank's rows; d_x = (d_y − mean(d_y) − n · mean(d_y · n)) · gain ·
/// rstd, the means over the rows of all ranks. With running statistics, which do not depend on x, d_x = d_y · gain ·
/// rstd.
template <class T, class G>
void compute(const op::BatchNormBackward<T, G>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const T *const x = at(o.x), *const gain = at(o.gain), *const d_y = at(o.d_y);
  T* const d_x = at.optional(o.d_x);
  const S *const means = at(o.mean), *const rstds = at(o.rstd), *const of_ranks = at.optional(o.of_ranks);
  G *const d_gain = at.optional(o.d_gain), *const d_bias = at.optional(o.d_bias);
  const std::size_t columns = o.columns, apart = op::described_by(columns);
  S* const partial = at(View<S>{at.scratch});
  S *const mean_d = partial + o.partial_sums(), *const mean_dn = mean_d + columns;
  if (o.sums_rows()) detail::sums_by_chunks(x, d_y, means, rstds, o.chunks(), partial, mean_d);
  const S* const own = of_ranks == nullptr ? mean_d : of_ranks + o.rank * apart;  // sums of d_y, then of d_y · n
  if (d_gain != nullptr)
    for_each_vector<S>(0, columns, [&](std::size_t i, auto n) {
      const V sum_d = load<S>(own + i, n), sum_dn = load<S>(own + columns + i, n);
      store(o.add ? load<S>(d_gain + i, n) + sum_dn : sum_dn, d_gain + i, n);
      store(o.add ? load<S>(d_bias + i, n) + sum_d : sum_d, d_bias + i, n);
    });
  if (d_x == nullptr) return;
  if (o.uses_running)
    return sweep_rows<S>(o.rows, columns, columns, [&](std::size_t i, std::size_t place, auto n) {
      store(load<S>(d_y + place, n) * (load<S>(gain + i, n) * load<S>(rstds + i, n)), d_x + place, n);
    });
  S rows = static_cast<S>(o.rows);
  if (of_ranks != nullptr) {
    rows = S(0);
    for (std::size_t rank = 0; rank < o.ranks; ++rank) rows += of_ranks[rank * apart + 2 * columns];
  }
  const S share = rows > S(0) ? S(1) / rows : S(0);
  for_each_vector<S>(0, 2 * columns, [&](std::size_t i, auto n) {
    V sum = load<S>((of_ranks == nullptr ? mean_d : of_ranks) + i, n);
    if (of_ranks != nullptr)
      for (std::size_t rank = 1; rank < o.ranks; ++rank) sum += load<S>(of_ranks + rank * apart + i, n);
    store(sum * share, mean_d + i, n);
  });
  sweep_rows<S>(o.rows, columns, columns, [&](std::size_t i, std::size_t place, auto n) {
    const V rstd = load<S>(rstds + i, n), normal = (load<S>(x + place, n) - load<S>(means + i, n)) * rstd,
            centered = load<S>(d_y + place, n) - load<S>(mean_d + i, n) - normal * load<S>(mean_dn + i, n);
    store(centered * (load<S>(gain + i, n) * rstd), d_x + place, n);
  });
}

/// By differences from the first rank's number: the mean of equal numbers is exactly that number.
template <class T>
void compute(const op::MeanOfRanks<T>& o, const Memory& at) {
  const T* const x = at(o.x);
  T* const y = at(o.y);
  const Vector<T> share = T(1) / static_cast<T>(o.ranks);
  sweep<T>(o.count, [&](std::size_t i, auto n) {
    const Vector<T> first = load<T>(x + i, n);
    Vector<T> apart = T(0);
    for (std::size_t rank = 1; rank < o.ranks; ++rank) apart += load<T>(x + rank * o.count + i, n) - first;
    store(first + apart * share, y + i, n);
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
