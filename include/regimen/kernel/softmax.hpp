// regimen/kernel/softmax.hpp — rows as distributions, and their gradients.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/rows.hpp>

#include <cmath>
#include <cstddef>
#include <limits>

namespace regimen::kernel {

/// y = exp(x − m) / Σ exp(x − m), m the largest number of the row, so that no power overflows: its own is 1. A warp or
/// a block takes a row (see RowPlan), which it holds in registers if it can; else it reads the row again for each of
/// three passes: m, the sum, y. The powers are computed twice, for the sum and for y. In S, rounded once.
///
/// cost   x and y once, for the rows that a block holds (see RowPlan); longer ones are read three times, twice of them
///        from the caches
template <class T>
struct Kernel<op::Softmax<T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 256;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  op::Softmax<T> o;
  Memory at;

  constexpr unsigned blocks() const { return rows().blocks(); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T* const x = at(o.x);
    T* const y = at(o.y);
    constexpr S lowest = -std::numeric_limits<S>::infinity();
    rows().for_each(block, [&]<unsigned n, bool held>(const auto& team, std::size_t row) {
      const std::size_t first = row * o.columns;
      auto part = part_of_row<n, held>(team, o.columns, [&](std::size_t i) { return detail::read<n>(x + first + i); });
      S most = lowest;
      part.for_each([&](std::size_t, const Pack<T, n>& run) {
        for (unsigned k = 0; k < n; ++k) most = Largest{}(most, static_cast<S>(run.at[k]));
      });
      most = team.template combined<Largest>(most);
      S total = S(0);
      part.for_each([&](std::size_t, const Pack<T, n>& run) {
        for (unsigned k = 0; k < n; ++k) total += std::exp(static_cast<S>(run.at[k]) - most);
      });
      const S share = S(1) / team.template combined<Sum>(total);
      part.for_each([&](std::size_t i, const Pack<T, n>& run) {
        Pack<T, n> result;
        for (unsigned k = 0; k < n; ++k)
          result.at[k] = static_cast<T>(std::exp(static_cast<S>(run.at[k]) - most) * share);
        detail::write(result, y + first + i);
      });
    });
  }

 private:
  REGIMEN_HD constexpr RowPlan<pack_of<T>, threads> rows() const {
    return {o.rows, o.columns, are_aligned(at(o.x), at(o.y))};
  }
};

/// d_x = y · (d_y − Σ y · d_y), the sum over the row; in S, rounded once. A warp or a block takes a row, as forward.
///
/// cost   y, d_y and d_x once, for the rows that a block holds; longer ones are read twice
template <class T>
struct Kernel<op::SoftmaxBackward<T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 256;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  op::SoftmaxBackward<T> o;
  Memory at;

  constexpr unsigned blocks() const { return rows().blocks(); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const y = at(o.y), *const d_y = at(o.d_y);
    T* const d_x = at(o.d_x);
    rows().for_each(block, [&]<unsigned n, bool held>(const auto& team, std::size_t row) {
      const std::size_t first = row * o.columns;
      auto part = part_of_row<n, held>(team, o.columns, [&](std::size_t i) {
        return Run<n>{detail::read<n>(y + first + i), detail::read<n>(d_y + first + i)};
      });
      S mean = S(0);
      part.for_each([&](std::size_t, const Run<n>& run) {
        for (unsigned k = 0; k < n; ++k) mean += static_cast<S>(run.y.at[k]) * static_cast<S>(run.d_y.at[k]);
      });
      mean = team.template combined<Sum>(mean);
      part.for_each([&](std::size_t i, const Run<n>& run) {
        Pack<T, n> result;
        for (unsigned k = 0; k < n; ++k)
          result.at[k] = static_cast<T>(static_cast<S>(run.y.at[k]) * (static_cast<S>(run.d_y.at[k]) - mean));
        detail::write(result, d_x + first + i);
      });
    });
  }

 private:
  template <unsigned n>
  struct Run {
    Pack<T, n> y, d_y;
  };
  REGIMEN_HD constexpr RowPlan<pack_of<T>, threads> rows() const {
    return {o.rows, o.columns, are_aligned(at(o.y), at(o.d_y), at(o.d_x))};
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
