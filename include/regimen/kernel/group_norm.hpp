// regimen/kernel/group_norm.hpp — normalisation over groups of channels, forward and backward.
//
// First a thread takes a column of a chunk of a sample's rows, neighbours read neighbours; then a warp takes a group of
// a sample, and adds what its lanes have as a tree; the last launch writes the elements.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/batch_norm.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/column_sum.hpp>
#include <regimen/kernel/rows.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::kernel {

namespace detail {

REGIMEN_HD constexpr ColumnChunks chunks_of(const op::ColumnGroups& shape) { return {shape, shape.chunks()}; }
/// The group of element i, among those of all samples.
REGIMEN_HD constexpr std::size_t group_of(const op::ColumnGroups& shape, std::size_t i) {
  return i / (shape.rows * shape.columns) * shape.groups + i % shape.columns / shape.width();
}

/// The groups of all samples, each taken by a warp.
template <unsigned threads>
struct WarpGroups final {
  op::ColumnGroups shape;

  constexpr unsigned blocks() const { return blocks_for(shape.samples * shape.groups, threads / warp_lanes); }
  /// take(warp, group) for this thread's.
  REGIMEN_HD_UNCHECKED
  template <class Block, class Take>
  REGIMEN_HD void for_each(const Block& block, const Take& take) const {
    const RowTeam<threads, Block> warp{block, false};
    const std::size_t teams = warp.teams();
    for (std::size_t group = warp.index() * teams + warp.team(); group < shape.samples * shape.groups;
         group += warp.blocks() * teams)
      take(warp, group);
  }
  /// The sum over a group's columns of chunks, in all lanes: term(place of the first sum, column, rows of the chunk).
  REGIMEN_HD_UNCHECKED
  template <class S, class Warp, class Term>
  REGIMEN_HD S sum(const Warp& warp, std::size_t group, const Term& term) const {
    const std::size_t sample = group / shape.groups, width = shape.width(), chunks = shape.chunks(),
                      first = group % shape.groups * width;
    S sum = S(0);
    for (std::size_t i = warp.thread(); i < chunks * width; i += warp.threads()) {
      const std::size_t chunk = i / width, column = first + i % width;
      sum += term((sample * chunks + chunk) * 2 * shape.columns + column, column,
                  static_cast<S>(shape.begin(chunk + 1) - shape.begin(chunk)));
    }
    return warp.template combined<Sum>(sum);
  }
};

}  // namespace detail

/// y = (x − μ) · rstd · gain + bias, with μ and rstd = 1 / √(σ² + ε) of a sample's rows over the columns of a group
///   x, y (samples,rows,columns); mean, rstd (samples,groups) S; gain, bias (columns)
///
/// The mean and the squares around it of each column of each chunk.
///
/// cost   x three times, the second from the caches; y once; two sums for each column of a chunk of 32 rows and more,
///        written once and read three times
template <class T>
struct Kernel<op::GroupNorm<T>, 0> final {
  using S = statistic_t<T>;
  static constexpr unsigned passes = 3, threads = 256;
  op::GroupNorm<T> o;
  Memory at;

  static constexpr std::size_t scratch(const op::GroupNorm<T>& operation) {
    return operation.shape.template bytes<S>();
  }
  constexpr unsigned blocks() const { return blocks_for(detail::chunks_of(o.shape).pieces(), threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::chunk_moments(block, detail::chunks_of(o.shape), at(o.x), at.template scratch_of<S>());
  }
};

/// Those of each group: μ is the mean of the columns' means by their rows, and a column's squares around μ are those
/// around its own mean and rows · (mean − μ)². So no difference of large squares is taken.
template <class T>
struct Kernel<op::GroupNorm<T>, 1> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  op::GroupNorm<T> o;
  Memory at;

  constexpr unsigned blocks() const { return detail::WarpGroups<threads>{o.shape}.blocks(); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const S* const partial = at.template scratch_of<const S>();
    const S share = S(1) / static_cast<S>(o.shape.members());
    const detail::WarpGroups<threads> groups{o.shape};
    groups.for_each(block, [&](const auto& warp, std::size_t group) {
      const S mean = share * groups.template sum<S>(warp, group, [&](std::size_t place, std::size_t, S rows) {
        return partial[place] * rows;
      });
      const S squares = groups.template sum<S>(warp, group, [&](std::size_t place, std::size_t, S rows) {
        const S delta = partial[place] - mean;
        return partial[place + o.shape.columns] + delta * delta * rows;
      });
      if (warp.thread() == 0) {
        at(o.mean)[group] = mean;
        at(o.rstd)[group] = S(1) / std::sqrt(squares * share + static_cast<S>(o.epsilon));
      }
    });
  }
};

/// y, a thread for each number: neighbours read neighbours, and mean and rstd from the caches.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::GroupNorm<T>& o, Launch<2>) {
  return o.shape.count();
}
template <class T>
REGIMEN_HD void compute(const op::GroupNorm<T>& o, const Memory& at, std::size_t i, Launch<2>) {
  using S = statistic_t<T>;
  const std::size_t column = i % o.shape.columns, group = detail::group_of(o.shape, i);
  at(o.y)[i] = static_cast<T>((static_cast<S>(at(o.x)[i]) - at(o.mean)[group]) * at(o.rstd)[group] *
                                  static_cast<S>(at(o.gain)[column]) +
                              static_cast<S>(at(o.bias)[column]));
}

/// With n = (x − μ) · rstd: d_bias = Σ d_y, d_gain = Σ d_y · n, over all samples and rows of a column;
/// d_x = (d_y · gain − mean(d_y · gain) − n · mean(d_y · gain · n)) · rstd, the means over a group of a sample.
///
/// The sums of each column of each chunk that all gradients are made of.
///
/// cost   x and d_y twice, d_x once
template <class T, class G>
struct Kernel<op::GroupNormBackward<T, G>, 0> final {
  using S = statistic_t<T>;
  static constexpr unsigned passes = 4, threads = 256;
  op::GroupNormBackward<T, G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::GroupNormBackward<T, G>& operation) {
    return operation.shape.template bytes<S>(2 * operation.shape.groups);
  }
  constexpr unsigned blocks() const { return blocks_for(detail::chunks_of(o.shape).pieces(), threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::chunk_sums(block, detail::chunks_of(o.shape), at(o.x), at(o.d_y), at(o.mean), at(o.rstd),
                       at.template scratch_of<S>());
  }
};

/// The gradients of gain and bias: each chunk of each sample has both sums of a column, one behind the other.
template <class T, class G>
REGIMEN_HD constexpr auto sums_left(const op::GroupNormBackward<T, G>& o, Launch<1>) {
  const std::size_t columns = o.shape.columns;
  return LeftSums<statistic_t<T>, G>{.chunks = o.shape.samples * o.shape.chunks(),
                                     .columns = o.d_gain.is_absent() ? 0 : 2 * columns,
                                     .split = columns,
                                     .to = o.d_bias,
                                     .rest = o.d_gain,
                                     .add = o.add};
}

/// The two means of each group that d_x needs: of d_y · gain and of d_y · gain · n, from the sums of its columns, since
/// a gain is the same for all rows. They lie behind the chunks' sums in scratch.
template <class T, class G>
struct Kernel<op::GroupNormBackward<T, G>, 2> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  op::GroupNormBackward<T, G> o;
  Memory at;

  constexpr unsigned blocks() const { return o.d_x.is_absent() ? 0 : detail::WarpGroups<threads>{o.shape}.blocks(); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T* const gain = at(o.gain);
    S *const partial = at.template scratch_of<S>(), *const to = partial + 2 * detail::chunks_of(o.shape).pieces();
    const S share = S(1) / static_cast<S>(o.shape.members());
    const detail::WarpGroups<threads> groups{o.shape};
    groups.for_each(block, [&](const auto& warp, std::size_t group) {
      for (unsigned kind = 0; kind < 2; ++kind) {
        const S sum = groups.template sum<S>(warp, group, [&](std::size_t place, std::size_t column, S) {
          return partial[place + kind * o.shape.columns] * static_cast<S>(gain[column]);
        });
        if (warp.thread() == 0) to[2 * group + kind] = sum * share;
      }
    });
  }
};

/// d_x, a thread for each number; nothing is launched if nobody wants it.
template <class T, class G>
REGIMEN_HD constexpr std::size_t pieces(const op::GroupNormBackward<T, G>& o, Launch<3>) {
  return o.d_x.is_absent() ? 0 : o.shape.count();
}
template <class T, class G>
REGIMEN_HD void compute(const op::GroupNormBackward<T, G>& o, const Memory& at, std::size_t i, Launch<3>) {
  using S = statistic_t<T>;
  const std::size_t column = i % o.shape.columns, group = detail::group_of(o.shape, i);
  const S* const means = at.template scratch_of<const S>() + 2 * (detail::chunks_of(o.shape).pieces() + group);
  const S rstd = at(o.rstd)[group], normal = (static_cast<S>(at(o.x)[i]) - at(o.mean)[group]) * rstd;
  at(o.d_x)[i] = static_cast<T>(
      (static_cast<S>(at(o.d_y)[i]) * static_cast<S>(at(o.gain)[column]) - means[0] - normal * means[1]) * rstd);
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
