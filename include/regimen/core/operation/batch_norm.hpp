// regimen/core/operation/batch_norm.hpp — the operations of normalisation over a batch, and of state that ranks share.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen::op {

/// The chunks into which sums over rows are cut: by the shape alone, so that results depend on no number of threads.
struct RowChunks final {
  static constexpr std::size_t most = 128, least_rows = 8, most_sums = std::size_t{1} << 20;
  std::size_t rows = 0, columns = 0;

  REGIMEN_HD constexpr std::size_t count() const {
    const std::size_t by_rows = (rows + least_rows - 1) / least_rows, by_room = most_sums / columns;
    const std::size_t fewer = by_rows < by_room ? by_rows : by_room, some = fewer < most ? fewer : most;
    return some == 0 ? 1 : some;
  }
  REGIMEN_HD constexpr std::size_t begin(std::size_t chunk) const { return rows * chunk / count(); }
  /// Two sums of each column for each chunk, and for all chunks together.
  template <class S>
  constexpr std::size_t bytes() const {
    return 2 * (count() + 1) * columns * sizeof(S);
  }
};

/// The mean of some rows and the squares around it. More rows join (Chan, Golub, LeVeque 1983, eq. 2.1), so that no
/// mean cancels; none change nothing.
template <class S>
struct Moments final {
  S rows = 0, mean = 0, squares = 0;

  REGIMEN_HD constexpr void join(S more, S mean_of_more, S squares_of_more) {
    if (more == S(0)) return;
    if (rows == S(0)) {
      rows = more, mean = mean_of_more, squares = squares_of_more;
      return;
    }
    const S all = rows + more, delta = mean_of_more - mean;
    mean += delta * (more / all);
    squares += squares_of_more + delta * delta * (rows * more / all);
    rows = all;
  }
};

/// Numbers by which a rank describes its rows to others: two of each column, one after the other, then how many rows.
REGIMEN_HD constexpr std::size_t described_by(std::size_t columns) { return 2 * columns + 1; }

/// The moments of a column, of chunks that lie one behind the other, each with (2,columns).
template <class S>
REGIMEN_HD constexpr Moments<S> moments_of_chunks(const S* chunk_moments, const RowChunks& chunks, std::size_t column) {
  Moments<S> all;
  for (std::size_t chunk = 0; chunk < chunks.count(); ++chunk)
    all.join(static_cast<S>(chunks.begin(chunk + 1) - chunks.begin(chunk)),
             chunk_moments[chunk * 2 * chunks.columns + column],
             chunk_moments[(chunk * 2 + 1) * chunks.columns + column]);
  return all;
}
/// The moments of a column, of all ranks, each of which describes its rows as described_by says.
template <class S>
REGIMEN_HD constexpr Moments<S> moments_of_ranks(const S* of_ranks, std::size_t ranks, std::size_t columns,
                                                 std::size_t column) {
  Moments<S> all;
  for (std::size_t rank = 0; rank < ranks; ++rank, of_ranks += described_by(columns))
    all.join(of_ranks[2 * columns], of_ranks[column], of_ranks[columns + column]);
  return all;
}

/// The mean of each column, the squares around it, and the number of rows   x (rows,columns) T; y described_by(columns)
template <class T>
struct BatchMoments final {
  static constexpr const char* name = "batch_moments";
  using S = statistic_t<T>;
  View<T> x;
  View<S> y;
  std::size_t rows = 0, columns = 0;

  REGIMEN_HD constexpr RowChunks chunks() const { return {rows, columns}; }
  constexpr Cost cost() const { return {4 * double(rows * columns), double(rows * columns) * sizeof(T), 1}; }
};
/// Σ_rows d_y, Σ_rows d_y · (x − mean) · rstd, and the number of rows
///   x, d_y (rows,columns) T; mean, rstd (columns) S; y described_by(columns)
template <class T>
struct BatchSums final {
  static constexpr const char* name = "batch_sums";
  using S = statistic_t<T>;
  View<T> x, d_y;
  View<S> mean, rstd, y;
  std::size_t rows = 0, columns = 0;

  REGIMEN_HD constexpr RowChunks chunks() const { return {rows, columns}; }
  constexpr Cost cost() const { return {5 * double(rows * columns), 2 * double(rows * columns) * sizeof(T), 1}; }
};

/// y = (x − mean) · rstd · gain + bias, mean and variance over the rows of each column, rstd = 1/√(variance + epsilon)
///   x, y (rows,columns) T; gain, bias (columns) T; mean, rstd (columns) S; y may be x
///   running_mean, running_variance (columns) B
///   moves          running += momentum · (value − running); the variance with Bessel's correction, rows / (rows − 1).
///                  One row has no variance and moves none; values that are not finite move nothing
///   uses_running   in place of the batch's: nothing moves; mean and rstd may be absent, or are where they are written
///   of_ranks       (ranks, described_by(columns)) S: the moments of each rank's rows, combined in the order of ranks;
///                  absent: those of x
///   Each chunk of rows has its mean first, then its squares around it; chunks join in their order
template <class T, class B>
struct BatchNorm final {
  static constexpr const char* name = "batch_norm";
  using S = statistic_t<T>;
  View<T> x, gain, bias, y;
  View<S> mean{}, rstd{};
  View<B> running_mean, running_variance;
  std::size_t rows = 0, columns = 0;
  double epsilon = 1e-5, momentum = 0.1;
  bool moves = false, uses_running = false;
  View<S> of_ranks{};
  std::size_t ranks = 1;

  REGIMEN_HD constexpr RowChunks chunks() const { return {rows, columns}; }
  /// Whether x is read for its statistics.
  constexpr bool sums_rows() const { return !uses_running && of_ranks.is_absent(); }
  constexpr Cost cost() const {
    const double elements = double(rows * columns);
    return {(sums_rows() ? 8 : 4) * elements, (sums_rows() ? 3.0 : 2.0) * elements * sizeof(T), 1};
  }
};

/// With n = (x − mean) · rstd:  d_x = gain · rstd · (d_y − mean(d_y) − n · mean(d_y · n)), means over rows;
/// d_gain = Σ_rows d_y · n;  d_bias = Σ_rows d_y             d_x may be d_y, or absent; d_gain and d_bias may be absent
///   of_ranks   (ranks, described_by(columns)) S: the sums of each rank's rows; the means are of all, in the order of
///              ranks, d_gain and d_bias of `rank` alone. Absent: those of x
///   uses_running   the mean and rstd are not the batch's: d_x = gain · rstd · d_y
template <class T, class G>
struct BatchNormBackward final {
  static constexpr const char* name = "batch_norm_backward";
  using S = statistic_t<T>;
  View<T> x, gain, d_y, d_x{};
  View<S> mean, rstd;
  View<G> d_gain{}, d_bias{};
  std::size_t rows = 0, columns = 0;
  bool add = false, uses_running = false;
  View<S> of_ranks{};
  std::size_t ranks = 1, rank = 0;

  REGIMEN_HD constexpr RowChunks chunks() const { return {rows, columns}; }
  /// Whether x and d_y are read for sums.
  REGIMEN_HD constexpr bool sums_rows() const {
    return of_ranks.offset == View<S>::absent && !(uses_running && d_gain.offset == View<G>::absent);
  }
  /// Sums of chunks of x, which lie before the means.
  REGIMEN_HD constexpr std::size_t partial_sums() const {
    return of_ranks.offset == View<S>::absent ? chunks().count() * 2 * columns : 0;
  }
  constexpr std::size_t bytes() const { return (partial_sums() + 2 * columns) * sizeof(S); }
  constexpr Cost cost() const {
    const double elements = double(rows * columns), sums = sums_rows() ? 1 : 0, writes = d_x.is_absent() ? 0 : 1;
    return {(5 * sums + (uses_running ? 2 : 7)) * elements,
            (2 * sums + (uses_running ? 2 : 3) * writes) * elements * sizeof(T), 1};
  }
};

/// y = the mean of what the ranks have: x[0] + Σ (x[rank] − x[0]) / ranks, in their order: equals stay what they are
///   x (ranks,count), y (count); y lies apart from x
template <class T>
struct MeanOfRanks final {
  static constexpr const char* name = "mean_of_ranks";
  View<T> x, y;
  std::size_t ranks = 1, count = 0;

  constexpr Cost cost() const { return {double(ranks * count), double((ranks + 1) * count) * sizeof(T), 1}; }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
