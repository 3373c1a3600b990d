// regimen/engine/cpu/group_norm.hpp — normalisation over groups of channels, forward and backward.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/column_sum.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>
#include <regimen/engine/cpu/sweep.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace regimen::cpu {

namespace detail {

/// body(sample, chunk, its rows' first and last among all rows) for every chunk of every sample.
template <class Body>
void for_chunks_of_groups(const op::ColumnGroups& shape, const Body& body) {
  const std::size_t chunks = shape.chunks();
  for_chunks(shape.count(), shape.samples * chunks, [&](std::size_t piece) {
    const std::size_t sample = piece / chunks, chunk = piece % chunks, first = sample * shape.rows;
    body(sample, piece, first + shape.begin(chunk), first + shape.begin(chunk + 1));
  });
}
/// The two numbers that body(group, own, column) gives for a group of a sample, in all columns of the group. `own` is
/// what `to` has of the group's first column, which is `column`.   to (2,columns) for each sample, `each` apart
template <class S, class Body>
void for_groups(const op::ColumnGroups& shape, S* to, std::size_t each, const Body& body) {
  for (std::size_t group = 0; group < shape.samples * shape.groups; ++group) {
    const std::size_t column = group % shape.groups * shape.width();
    S* const own = to + group / shape.groups * each + column;
    const auto [first, second] = body(group, own, column);
    std::fill_n(own, shape.width(), first);
    std::fill_n(own + shape.columns, shape.width(), second);
  }
}

}  // namespace detail

/// y = (x − μ) · rstd · gain + bias, μ and rstd = 1 / √(σ² + ε) of a sample's rows over the columns of a group. The
/// mean and the squares around it of each column of a chunk; joined for a group, where a column's squares around the
/// group's mean are its own and rows · (its mean − μ)²; then the elements.
///
/// Each column gets the statistics of its group: in the scratch of its sample's first chunk, which is read no more.
template <class T>
void compute(const op::GroupNorm<T>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const op::ColumnGroups& shape = o.shape;
  const std::size_t columns = shape.columns, chunks = shape.chunks(), width = shape.width(),
                    each = chunks * 2 * columns;
  const T *const x = at(o.x), *const gain = at(o.gain), *const bias = at(o.bias);
  T* const y = at(o.y);
  S *const means = at(o.mean), *const rstds = at(o.rstd), *const partial = at(View<S>{at.scratch});
  detail::for_chunks_of_groups(shape, [&](std::size_t, std::size_t piece, std::size_t first, std::size_t last) {
    detail::means_and_squares(x, columns, {first, last}, partial + piece * 2 * columns);
  });
  const S share = S(1) / static_cast<S>(shape.members()), epsilon = static_cast<S>(o.epsilon);
  detail::for_groups(shape, partial, each, [&](std::size_t group, const S* own, std::size_t) {
    S mean = S(0), squares = S(0);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      const S rows = static_cast<S>(shape.begin(chunk + 1) - shape.begin(chunk));
      for (std::size_t i = 0; i < width; ++i) mean += own[chunk * 2 * columns + i] * rows;
    }
    mean *= share;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      const S rows = static_cast<S>(shape.begin(chunk + 1) - shape.begin(chunk));
      for (std::size_t i = 0; i < width; ++i) {
        const S delta = own[chunk * 2 * columns + i] - mean;
        squares += own[(chunk * 2 + 1) * columns + i] + delta * delta * rows;
      }
    }
    const S rstd = S(1) / std::sqrt(squares * share + epsilon);
    means[group] = mean;
    rstds[group] = rstd;
    return std::array{mean, rstd};
  });
  for_rows(shape.samples * shape.rows, columns, [&](std::size_t row, std::size_t begin, std::size_t end) {
    const S* const own = partial + row / shape.rows * each;
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) {
      const V normal = (load<S>(x + row * columns + i, n) - load<S>(own + i, n)) * load<S>(own + columns + i, n);
      store(multiply_add(normal, load<S>(gain + i, n), load<S>(bias + i, n)), y + row * columns + i, n);
    });
  });
}

/// With n = (x − μ) · rstd: d_bias = Σ d_y and d_gain = Σ d_y · n over all rows of all samples, chunk by chunk in their
/// order; d_x = (d_y · gain − mean(d_y · gain) − n · mean(d_y · gain · n)) · rstd, the means over a group of a sample.
///
/// As forward; the statistics of each sample's columns lie behind the sums of all chunks.
template <class T, class G>
void compute(const op::GroupNormBackward<T, G>& o, const Memory& at) {
  using S = statistic_t<T>;
  using V = Vector<S>;
  const op::ColumnGroups& shape = o.shape;
  const std::size_t columns = shape.columns, chunks = shape.chunks(), width = shape.width(),
                    each = chunks * 2 * columns;
  const T *const x = at(o.x), *const gain = at(o.gain), *const d_y = at(o.d_y);
  T* const d_x = at.optional(o.d_x);
  const S *const means = at(o.mean), *const rstds = at(o.rstd);
  G *const d_gain = at.optional(o.d_gain), *const d_bias = at.optional(o.d_bias);
  S *const partial = at(View<S>{at.scratch}), *const statistics = partial + shape.samples * each;
  detail::for_groups(shape, statistics, 2 * columns,
                     [&](std::size_t group, const S*, std::size_t) { return std::array{means[group], rstds[group]}; });
  detail::for_chunks_of_groups(shape, [&](std::size_t sample, std::size_t piece, std::size_t first, std::size_t last) {
    const S* const own = statistics + sample * 2 * columns;
    detail::sums_of_gradients(x, d_y, own, own + columns, columns, {first, last}, partial + piece * 2 * columns);
  });
  if (d_gain != nullptr)
    for_each_vector<S>(0, columns, [&](std::size_t i, auto n) {
      V sum_d = S(0), sum_dn = S(0);
      for (std::size_t piece = 0; piece < shape.samples * chunks; ++piece) {
        sum_d += load<S>(partial + piece * 2 * columns + i, n);
        sum_dn += load<S>(partial + (piece * 2 + 1) * columns + i, n);
      }
      store(o.add ? load<S>(d_gain + i, n) + sum_dn : sum_dn, d_gain + i, n);
      store(o.add ? load<S>(d_bias + i, n) + sum_d : sum_d, d_bias + i, n);
    });
  if (d_x == nullptr) return;
  const S share = S(1) / static_cast<S>(shape.members());
  detail::for_groups(shape, partial, each, [&](std::size_t, const S* own, std::size_t column) {
    S sum_g = S(0), sum_gn = S(0);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk)
      for (std::size_t i = 0; i < width; ++i) {
        const S factor = static_cast<S>(gain[column + i]);
        sum_g += factor * own[chunk * 2 * columns + i];
        sum_gn += factor * own[(chunk * 2 + 1) * columns + i];
      }
    return std::array{sum_g * share, sum_gn * share};
  });
  for_rows(shape.samples * shape.rows, columns, [&](std::size_t row, std::size_t begin, std::size_t end) {
    const std::size_t sample = row / shape.rows;
    const S *const own = statistics + sample * 2 * columns, *const mean_g = partial + sample * each;
    for_each_vector<S>(begin, end, [&](std::size_t i, auto n) {
      const std::size_t place = row * columns + i;
      const V rstd = load<S>(own + columns + i, n), normal = (load<S>(x + place, n) - load<S>(own + i, n)) * rstd,
              centered = load<S>(d_y + place, n) * load<S>(gain + i, n) - load<S>(mean_g + i, n) -
                         normal * load<S>(mean_g + columns + i, n);
      store(centered * rstd, d_x + place, n);
    });
  });
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
