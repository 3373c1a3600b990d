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

/// y = (x − mean) · rstd · gain + bias, mean and variance over the rows of each column, rstd = 1/√(variance + epsilon)
///   x, y (rows,columns) T; gain, bias (columns) T; mean, rstd (columns) S; y may be x
///   running_mean, running_variance (columns) B
///   moves          running += momentum · (value − running); the variance with Bessel's correction, rows / (rows − 1).
///                  One row has no variance and moves none; values that are not finite move nothing
///   uses_running   in place of the batch's: mean and rstd may be absent, nothing moves
///   Each chunk of rows has its mean first, then its squares around it, so that no mean cancels; chunks are combined in
///   their order (Chan, Golub, LeVeque 1983, eq. 2.1)
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

  REGIMEN_HD constexpr RowChunks chunks() const { return {rows, columns}; }
  constexpr Cost cost() const {
    const double elements = double(rows * columns);
    return {(uses_running ? 4 : 8) * elements, (uses_running ? 2.0 : 3.0) * elements * sizeof(T), 1};
  }
};

/// With n = (x − mean) · rstd:  d_x = gain · rstd · (d_y − mean(d_y) − n · mean(d_y · n)), means over rows;
/// d_gain = Σ_rows d_y · n;  d_bias = Σ_rows d_y             d_x may be d_y, or absent; d_gain and d_bias may be absent
template <class T, class G>
struct BatchNormBackward final {
  static constexpr const char* name = "batch_norm_backward";
  using S = statistic_t<T>;
  View<T> x, gain, d_y, d_x{};
  View<S> mean, rstd;
  View<G> d_gain{}, d_bias{};
  std::size_t rows = 0, columns = 0;
  bool add = false;

  REGIMEN_HD constexpr RowChunks chunks() const { return {rows, columns}; }
  constexpr Cost cost() const {
    const double elements = double(rows * columns);
    return {12 * elements, (d_x.is_absent() ? 2.0 : 5.0) * elements * sizeof(T), 1};
  }
};

/// y = the mean of what the ranks have, summed in their order       x (ranks,count), y (count); y lies apart from x
template <class T>
struct MeanOfRanks final {
  static constexpr const char* name = "mean_of_ranks";
  View<T> x, y;
  std::size_t ranks = 1, count = 0;

  constexpr Cost cost() const { return {double(ranks * count), double((ranks + 1) * count) * sizeof(T), 1}; }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
