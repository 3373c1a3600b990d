// regimen/kernel/group_norm.hpp — normalisation over groups of channels, forward and backward.
//
// First a thread takes a column of a chunk of a sample's rows, neighbours read neighbours; then a warp takes a group of
// a sample, and adds what its lanes have as a tree; the last launch writes the elements.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/column_sum.hpp>
#include <regimen/kernel/rows.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::kernel {

namespace detail {

/// body(sample, piece, column, first element, elements behind the last) for this thread's columns of chunks, of which
/// `piece` numbers those of all samples.
REGIMEN_HD_UNCHECKED
template <class Block, class Body>
REGIMEN_HD void for_columns_of_chunks(const Block& block, const op::ColumnGroups& shape, const Body& body) {
  const std::size_t chunks = shape.chunks(), columns = shape.columns;
  for_pieces(block, shape.samples * chunks * columns, [&](std::size_t i) {
    const std::size_t column = i % columns, piece = i / columns, sample = piece / chunks, chunk = piece % chunks,
                      from = sample * shape.rows * columns + column;
    body(sample, piece, column, from + shape.begin(chunk) * columns, from + shape.begin(chunk + 1) * columns);
  });
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
    const RowTeam<warp_lanes, Block> warp{block};
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
  constexpr unsigned blocks() const {
    return blocks_for(o.shape.samples * o.shape.chunks() * o.shape.columns, threads);
  }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T* const x = at(o.x);
    S* const partial = at.template scratch_of<S>();
    const std::size_t columns = o.shape.columns;
    detail::for_columns_of_chunks(
        block, o.shape, [&](std::size_t, std::size_t piece, std::size_t column, std::size_t first, std::size_t last) {
          S mean = S(0), squares = S(0);
          for (std::size_t i = first; i < last; i += columns) mean += static_cast<S>(x[i]);
          mean *= S(1) / static_cast<S>((last - first) / columns);  // a chunk has rows
          for (std::size_t i = first; i < last; i += columns) {
            const S d = static_cast<S>(x[i]) - mean;
            squares += d * d;
          }
          partial[piece * 2 * columns + column] = mean;
          partial[(piece * 2 + 1) * columns + column] = squares;
        });
  }
};

/// Those of each group.
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

/// y.
template <class T>
struct Kernel<op::GroupNorm<T>, 2> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 256;
  op::GroupNorm<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.shape.count(), threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const x = at(o.x), *const gain = at(o.gain), *const bias = at(o.bias);
    const S *const means = at(o.mean), *const rstds = at(o.rstd);
    T* const y = at(o.y);
    const std::size_t columns = o.shape.columns, each = o.shape.rows * columns, width = o.shape.width();
    for_pieces(block, o.shape.count(), [&](std::size_t i) {
      const std::size_t column = i % columns, group = i / each * o.shape.groups + column / width;
      y[i] = static_cast<T>((static_cast<S>(x[i]) - means[group]) * rstds[group] * static_cast<S>(gain[column]) +
                            static_cast<S>(bias[column]));
    });
  }
};

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
  constexpr unsigned blocks() const {
    return blocks_for(o.shape.samples * o.shape.chunks() * o.shape.columns, threads);
  }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const x = at(o.x), *const d_y = at(o.d_y);
    const S *const means = at(o.mean), *const rstds = at(o.rstd);
    S* const partial = at.template scratch_of<S>();
    const std::size_t columns = o.shape.columns, width = o.shape.width();
    detail::for_columns_of_chunks(
        block, o.shape,
        [&](std::size_t sample, std::size_t piece, std::size_t column, std::size_t first, std::size_t last) {
          const std::size_t group = sample * o.shape.groups + column / width;
          const S mean = means[group], rstd = rstds[group];
          S sum_d = S(0), sum_dn = S(0);
          for (std::size_t i = first; i < last; i += columns) {
            const S d = static_cast<S>(d_y[i]);
            sum_d += d;
            sum_dn += d * ((static_cast<S>(x[i]) - mean) * rstd);
          }
          partial[piece * 2 * columns + column] = sum_d;
          partial[(piece * 2 + 1) * columns + column] = sum_dn;
        });
  }
};

/// The gradients of gain and bias: each chunk of each sample has both sums of a column, one behind the other.
template <class T, class G>
struct Kernel<op::GroupNormBackward<T, G>, 1> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = JoinSums::threads;
  static constexpr std::size_t shared_bytes = JoinSums::shared_bytes<S>;
  op::GroupNormBackward<T, G> o;
  Memory at;

  constexpr unsigned blocks() const { return o.d_gain.is_absent() ? 0 : JoinSums::blocks(2 * o.shape.columns); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t columns = o.shape.columns;
    G *const d_gain = at(o.d_gain), *const d_bias = at(o.d_bias);
    JoinSums::join(
        block, at.template scratch_of<const S>(), o.shape.samples * o.shape.chunks(), 2 * columns,
        [&](std::size_t i, S sum) { JoinSums::put(sum, i < columns ? d_bias[i] : d_gain[i - columns], o.add); });
  }
};

/// The two means of each group that d_x needs.
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
    S *const partial = at.template scratch_of<S>(), *const to = partial + o.shape.samples * o.shape.chunks() * 2 *
                                                                              o.shape.columns;
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

/// d_x.
template <class T, class G>
struct Kernel<op::GroupNormBackward<T, G>, 3> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 256;
  op::GroupNormBackward<T, G> o;
  Memory at;

  constexpr unsigned blocks() const { return o.d_x.is_absent() ? 0 : blocks_for(o.shape.count(), threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const x = at(o.x), *const gain = at(o.gain), *const d_y = at(o.d_y);
    const S *const means = at(o.mean), *const rstds = at(o.rstd),
                   *const of_gradients =
                       at.template scratch_of<const S>() + o.shape.samples * o.shape.chunks() * 2 * o.shape.columns;
    T* const d_x = at(o.d_x);
    const std::size_t columns = o.shape.columns, each = o.shape.rows * columns, width = o.shape.width();
    for_pieces(block, o.shape.count(), [&](std::size_t i) {
      const std::size_t column = i % columns, group = i / each * o.shape.groups + column / width;
      const S rstd = rstds[group], normal = (static_cast<S>(x[i]) - means[group]) * rstd;
      d_x[i] = static_cast<T>((static_cast<S>(d_y[i]) * static_cast<S>(gain[column]) - of_gradients[2 * group] -
                               normal * of_gradients[2 * group + 1]) *
                              rstd);
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
