// regimen/kernel/batch_norm.hpp — normalisation over a batch, forward and backward; the mean of ranks.
//
// Sums over rows in two launches: a thread takes a column of a chunk of rows, neighbours read neighbours; then a thread
// takes a column and adds its chunks in their order. The third launch writes the elements.
#pragma once

#include <regimen/core/finite.hpp>
#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::kernel {

namespace detail {

/// Rows of samples in chunks, `count` of each sample, which begin where op::RowChunks and op::ColumnGroups let them
/// begin. A batch is one sample, with groups of one column.
struct ColumnChunks final {
  op::ColumnGroups shape;
  std::size_t count;

  template <class Operation>
  REGIMEN_HD static constexpr ColumnChunks of_batch(const Operation& o) {
    return {{.samples = 1, .rows = o.rows, .columns = o.columns, .groups = o.columns}, o.chunks().count()};
  }
  REGIMEN_HD constexpr std::size_t pieces() const { return shape.samples * count * shape.columns; }
  /// body(group, first element, elements behind the last, place of the first of two sums) for this thread's columns.
  REGIMEN_HD_UNCHECKED
  template <class Block, class Body>
  REGIMEN_HD void for_each(const Block& block, const Body& body) const {
    const std::size_t columns = shape.columns;
    for_pieces(block, pieces(), [&](std::size_t i) {
      const std::size_t column = i % columns, piece = i / columns, sample = piece / count, chunk = piece % count,
                        from = sample * shape.rows * columns + column;
      body(sample * shape.groups + column / shape.width(), from + shape.rows * chunk / count * columns,
           from + shape.rows * (chunk + 1) / count * columns, piece * 2 * columns + column);
    });
  }
};

/// The mean and the squares around it of each chunk.   to (chunks,2,columns)
REGIMEN_HD_UNCHECKED
template <class Block, class S, class T>
REGIMEN_HD void chunk_moments(const Block& block, const ColumnChunks& chunks, const T* x, S* to) {
  const std::size_t columns = chunks.shape.columns;
  chunks.for_each(block, [&](std::size_t, std::size_t first, std::size_t last, std::size_t place) {
    S mean = S(0), squares = S(0);
    for (std::size_t i = first; i < last; i += columns) mean += static_cast<S>(x[i]);
    if (first < last) mean *= S(1) / static_cast<S>((last - first) / columns);
    for (std::size_t i = first; i < last; i += columns) {
      const S d = static_cast<S>(x[i]) - mean;
      squares += d * d;
    }
    to[place] = mean;
    to[place + columns] = squares;
  });
}
/// The sums of d_y and d_y · n of each chunk.   means, rstds: of groups   to (chunks,2,columns)
REGIMEN_HD_UNCHECKED
template <class Block, class S, class T>
REGIMEN_HD void chunk_sums(const Block& block, const ColumnChunks& chunks, const T* x, const T* d_y, const S* means,
                           const S* rstds, S* to) {
  const std::size_t columns = chunks.shape.columns;
  chunks.for_each(block, [&](std::size_t group, std::size_t first, std::size_t last, std::size_t place) {
    const S mean = means[group], rstd = rstds[group];
    S sum_d = S(0), sum_dn = S(0);
    for (std::size_t i = first; i < last; i += columns) {
      const S d = static_cast<S>(d_y[i]);
      sum_d += d;
      sum_dn += d * ((static_cast<S>(x[i]) - mean) * rstd);
    }
    to[place] = sum_d;
    to[place + columns] = sum_dn;
  });
}
/// A number of each of `count` descriptions, `apart` numbers from one to the next, added in their order.
template <class S>
REGIMEN_HD S sum_over(const S* of_each, std::size_t count, std::size_t apart) {
  S sum = of_each[0];
  for (std::size_t i = 1; i < count; ++i) sum += of_each[i * apart];
  return sum;
}
/// The first launch over a batch, S the type of statistics: chunk_sums, if the operation has d_y, else chunk_moments.
template <class Operation, class S, unsigned launches>
struct ChunkLaunch {
  static constexpr unsigned passes = launches, threads = 256;
  Operation o;
  Memory at;

  static constexpr std::size_t scratch(const Operation& operation) {
    if constexpr (requires { operation.bytes(); }) return operation.bytes();
    else return sums_rows(operation) ? operation.chunks().template bytes<S>() : 0;
  }
  constexpr unsigned blocks() const { return sums_rows(o) ? blocks_for(o.chunks().count() * o.columns, threads) : 0; }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const ColumnChunks chunks = ColumnChunks::of_batch(o);
    S* const to = at.template scratch_of<S>();
    if constexpr (requires { o.d_y; }) chunk_sums(block, chunks, at(o.x), at(o.d_y), at(o.mean), at(o.rstd), to);
    else chunk_moments(block, chunks, at(o.x), to);
  }

 private:
  /// No: the running statistics serve, or all ranks' sums are there already.
  static constexpr bool sums_rows(const Operation& operation) {
    if constexpr (requires { operation.sums_rows(); }) return operation.sums_rows();
    else return true;
  }
};
template <class T, class B>
REGIMEN_HD statistic_t<T> running_rstd(const op::BatchNorm<T, B>& o, const Memory& at, std::size_t column) {
  using S = statistic_t<T>;
  return S(1) / std::sqrt(static_cast<S>(at(o.running_variance)[column]) + static_cast<S>(o.epsilon));
}

}  // namespace detail

/// What a rank says of its rows: of each column the mean and the squares around it, and how many rows there are.
template <class T>
struct Kernel<op::BatchMoments<T>, 0> final : detail::ChunkLaunch<op::BatchMoments<T>, statistic_t<T>, 2> {};
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::BatchMoments<T>& o, Launch<1>) {
  return o.columns;
}
template <class T>
REGIMEN_HD void compute(const op::BatchMoments<T>& o, const Memory& at, std::size_t column, Launch<1>) {
  using S = statistic_t<T>;
  const op::Moments<S> all = op::moments_of_chunks(at.template scratch_of<const S>(), o.chunks(), column);
  at(o.y)[column] = all.mean;
  at(o.y)[o.columns + column] = all.squares;
  if (column == 0) at(o.y)[2 * o.columns] = static_cast<S>(o.rows);
}

/// What a rank says of its gradients: of each column the sums of d_y and of d_y · n, and how many rows there are.
template <class T>
struct Kernel<op::BatchSums<T>, 0> final : detail::ChunkLaunch<op::BatchSums<T>, statistic_t<T>, 2> {};
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::BatchSums<T>& o, Launch<1>) {
  return 2 * o.columns;
}
template <class T>
REGIMEN_HD void compute(const op::BatchSums<T>& o, const Memory& at, std::size_t i, Launch<1>) {
  using S = statistic_t<T>;
  at(o.y)[i] = detail::sum_over(at.template scratch_of<const S>() + i, o.chunks().count(), 2 * o.columns);
  if (i == 0) at(o.y)[2 * o.columns] = static_cast<S>(o.rows);
}

/// y = (x − μ) · rstd · gain + bias, with μ and rstd = 1 / √(σ² + ε) of all rows of a column
///   x, y (rows,columns); mean, rstd (columns) S; gain, bias, running_mean and running_variance (columns)
///
/// σ² is the mean of the squares around μ; the running variance moves towards Σ / (rows − 1). of_ranks: the ranks'
/// moments, which op::BatchMoments has computed, are joined in place of chunks.
///
/// The mean and the squares around it of each chunk.
///
/// cost   x three times, the second from the caches; y once; 2 · chunks · columns sums written and read once
template <class T, class B>
struct Kernel<op::BatchNorm<T, B>, 0> final : detail::ChunkLaunch<op::BatchNorm<T, B>, statistic_t<T>, 3> {};

/// Those of the batch, and the running ones move; or the running ones, for backward.
template <class T, class B>
REGIMEN_HD constexpr std::size_t pieces(const op::BatchNorm<T, B>& o, Launch<1>) {
  return o.uses_running && o.mean.is_absent() ? 0 : o.columns;
}
template <class T, class B>
REGIMEN_HD void compute(const op::BatchNorm<T, B>& o, const Memory& at, std::size_t column, Launch<1>) {
  using S = statistic_t<T>;
  const S* const of_ranks = at.optional(o.of_ranks);
  const S momentum = static_cast<S>(o.momentum);
  if (o.uses_running) {
    at(o.mean)[column] = static_cast<S>(at(o.running_mean)[column]);
    at(o.rstd)[column] = detail::running_rstd(o, at, column);
    return;
  }
  const op::Moments<S> all = of_ranks == nullptr
                                 ? op::moments_of_chunks(at.template scratch_of<const S>(), o.chunks(), column)
                                 : op::moments_of_ranks(of_ranks, o.ranks, o.columns, column);
  const S share = all.rows > S(0) ? S(1) / all.rows : S(0),
          unbiased = all.rows > S(1) ? S(1) / (all.rows - S(1)) : S(0);
  at(o.mean)[column] = all.mean;
  at(o.rstd)[column] = S(1) / std::sqrt(all.squares * share + static_cast<S>(o.epsilon));
  if (!o.moves || all.rows == S(0) || !is_finite(all.mean) || !is_finite(all.squares)) return;
  B &running_mean = at(o.running_mean)[column], &running_variance = at(o.running_variance)[column];
  const S old_mean = static_cast<S>(running_mean), old_variance = static_cast<S>(running_variance);
  running_mean = static_cast<B>(old_mean + momentum * (all.mean - old_mean));
  if (all.rows > S(1))
    running_variance = static_cast<B>(old_variance + momentum * (all.squares * unbiased - old_variance));
}

/// y, a thread for each number: neighbours read neighbours.
template <class T, class B>
REGIMEN_HD constexpr std::size_t pieces(const op::BatchNorm<T, B>& o, Launch<2>) {
  return o.rows * o.columns;
}
template <class T, class B>
REGIMEN_HD void compute(const op::BatchNorm<T, B>& o, const Memory& at, std::size_t i, Launch<2>) {
  using S = statistic_t<T>;
  const std::size_t column = i % o.columns;
  const S mean = o.uses_running ? static_cast<S>(at(o.running_mean)[column]) : at(o.mean)[column],
          rstd = o.uses_running ? detail::running_rstd(o, at, column) : at(o.rstd)[column];
  at(o.y)[i] = static_cast<T>((static_cast<S>(at(o.x)[i]) - mean) * rstd * static_cast<S>(at(o.gain)[column]) +
                              static_cast<S>(at(o.bias)[column]));
}

/// With n = (x − μ) · rstd: d_bias = Σ d_y, d_gain = Σ d_y · n over the rows of a column, and
/// d_x = (d_y − mean(d_y) − n · mean(d_y · n)) · gain · rstd; with the running statistics d_x = d_y · gain · rstd.
///
/// The sums of each chunk that all gradients are made of.
///
/// cost   x and d_y twice, d_x once
template <class T, class G>
struct Kernel<op::BatchNormBackward<T, G>, 0> final
    : detail::ChunkLaunch<op::BatchNormBackward<T, G>, statistic_t<T>, 3> {};

/// The sums of the batch: the gradients of gain and bias, and the means that d_x needs. Thread i has column i of Σ d_y,
/// or, from `columns` on, of Σ d_y · n. A rank adds its own sums to its gradients, the means are those of all ranks.
template <class T, class G>
REGIMEN_HD constexpr std::size_t pieces(const op::BatchNormBackward<T, G>& o, Launch<1>) {
  return o.sums_rows() || !o.of_ranks.is_absent() ? 2 * o.columns : 0;
}
template <class T, class G>
REGIMEN_HD void compute(const op::BatchNormBackward<T, G>& o, const Memory& at, std::size_t i, Launch<1>) {
  using S = statistic_t<T>;
  const S* const of_ranks = at.optional(o.of_ranks);
  S* const partial = at.template scratch_of<S>();
  S* const means = partial + o.partial_sums();
  G *const d_gain = at.optional(o.d_gain), *const d_bias = at.optional(o.d_bias);
  const std::size_t apart = op::described_by(o.columns);
  const S rows =
              of_ranks == nullptr ? static_cast<S>(o.rows) : detail::sum_over(of_ranks + 2 * o.columns, o.ranks, apart),
          share = rows > S(0) ? S(1) / rows : S(0);
  // Of d_y, then of d_y · n.
  const S all = of_ranks == nullptr ? detail::sum_over(partial + i, o.chunks().count(), 2 * o.columns)
                                    : detail::sum_over(of_ranks + i, o.ranks, apart),
          own = of_ranks == nullptr ? all : of_ranks[o.rank * apart + i];
  if (d_gain != nullptr) {
    G& gradient = i < o.columns ? d_bias[i] : d_gain[i - o.columns];
    gradient = static_cast<G>(o.add ? static_cast<S>(gradient) + own : own);
  }
  means[i] = all * share;
}

/// d_x, a thread for each number; nothing is launched if nobody wants it.
template <class T, class G>
REGIMEN_HD constexpr std::size_t pieces(const op::BatchNormBackward<T, G>& o, Launch<2>) {
  return o.d_x.is_absent() ? 0 : o.rows * o.columns;
}
template <class T, class G>
REGIMEN_HD void compute(const op::BatchNormBackward<T, G>& o, const Memory& at, std::size_t i, Launch<2>) {
  using S = statistic_t<T>;
  const std::size_t column = i % o.columns;
  const S rstd = at(o.rstd)[column], d = static_cast<S>(at(o.d_y)[i]),
          factor = static_cast<S>(at(o.gain)[column]) * rstd;
  if (o.uses_running) {
    at(o.d_x)[i] = static_cast<T>(d * factor);
    return;
  }
  const S* const means = at.template scratch_of<const S>() + o.partial_sums();  // of d_y, then of d_y · n
  const S normal = (static_cast<S>(at(o.x)[i]) - at(o.mean)[column]) * rstd,
          centered = d - means[column] - normal * means[o.columns + column];
  at(o.d_x)[i] = static_cast<T>(centered * factor);
}

/// y = the mean of the ranks' numbers x (ranks,count), from the first one on: equal numbers have exactly themselves as
/// their mean. A thread for each number.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::MeanOfRanks<T>& o, Launch<0>) {
  return o.count;
}
template <class T>
REGIMEN_HD void compute(const op::MeanOfRanks<T>& o, const Memory& at, std::size_t i, Launch<0>) {
  const T first = at(o.x)[i], share = T(1) / static_cast<T>(o.ranks);
  T apart = T(0);
  for (std::size_t rank = 1; rank < o.ranks; ++rank) apart += at(o.x)[rank * o.count + i] - first;
  at(o.y)[i] = first + apart * share;
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
