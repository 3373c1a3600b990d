// regimen/core/operation/group_norm.hpp — the operations of normalisation over groups of channels.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/number.hpp>
#include <regimen/core/operation/scalars.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>

namespace regimen::op {

/// (samples,rows,columns), whose columns are cut into equal groups, and the rows of each sample into chunks for sums:
/// by its own shape alone, so that the results of a sample depend neither on threads nor on how many samples there are.
struct ColumnGroups final {
  static constexpr std::size_t most = 32, least_rows = 32;
  std::size_t samples = 0, rows = 0, columns = 0, groups = 1;

  /// Columns of a group.
  REGIMEN_HD constexpr std::size_t width() const { return columns / groups; }
  /// Elements that a mean is of.
  REGIMEN_HD constexpr std::size_t members() const { return rows * width(); }
  REGIMEN_HD constexpr std::size_t count() const { return samples * rows * columns; }
  /// Of each sample.
  REGIMEN_HD constexpr std::size_t chunks() const {
    const std::size_t wanted = (rows + least_rows - 1) / least_rows;
    return wanted < most ? wanted : most;
  }
  REGIMEN_HD constexpr std::size_t begin(std::size_t chunk) const { return rows * chunk / chunks(); }
  /// Two sums of each column for each chunk of each sample, and `more` for each sample.
  template <class S>
  constexpr std::size_t bytes(std::size_t more = 0) const {
    return (samples > 0 ? samples : 1) * (2 * chunks() * columns + more) * sizeof(S);
  }
};

/// y = (x − mean) · rstd · gain + bias, mean and variance over the rows and the columns of each group of a sample,
/// rstd = 1/√(variance + epsilon)
///   x, y (samples,rows,columns) T; gain, bias (columns) T; mean, rstd (samples,groups) S; y may be x
///   Each column of a chunk of rows has its mean first, then its squares around it; those of a group are combined
///   around the group's mean, so that no mean cancels
template <class T>
struct GroupNorm final {
  static constexpr const char* name = "group_norm";
  using S = statistic_t<T>;
  View<T> x, gain, bias, y;
  View<S> mean, rstd;
  ColumnGroups shape;
  double epsilon = 1e-5;

  constexpr Cost cost() const { return {8 * double(shape.count()), 3 * double(shape.count()) * sizeof(T), 1}; }
};

/// With n = (x − mean) · rstd and g = gain · d_y:  d_x = rstd · (g − mean(g) − n · mean(g · n)), means over a group;
/// d_gain = Σ d_y · n;  d_bias = Σ d_y, over samples and rows
///   d_x may be d_y, or absent; d_gain and d_bias may be absent
template <class T, class G>
struct GroupNormBackward final {
  static constexpr const char* name = "group_norm_backward";
  using S = statistic_t<T>;
  View<T> x, gain, d_y, d_x{};
  View<S> mean, rstd;
  View<G> d_gain{}, d_bias{};
  ColumnGroups shape;
  bool add = false;

  constexpr Cost cost() const {
    return {12 * double(shape.count()), (d_x.is_absent() ? 2 : 5) * double(shape.count()) * sizeof(T), 1};
  }
};

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
