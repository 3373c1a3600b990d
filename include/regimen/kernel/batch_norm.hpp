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

/// The mean and the squares around it of each chunk.
///
/// cost   x three times, the second from the caches; y once; 2 · chunks · columns sums written and read once
template <class T, class B>
struct Kernel<op::BatchNorm<T, B>, 0> final {
  using S = statistic_t<T>;
  static constexpr unsigned passes = 3, threads = 256;
  op::BatchNorm<T, B> o;
  Memory at;

  static constexpr std::size_t scratch(const op::BatchNorm<T, B>& operation) {
    return operation.uses_running ? 0 : operation.chunks().template bytes<S>();
  }
  constexpr unsigned blocks() const { return o.uses_running ? 0 : blocks_for(o.chunks().count() * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const op::RowChunks chunks = o.chunks();
    const T* const x = at(o.x);
    S* const partial = at.template scratch_of<S>();
    for_pieces(block, chunks.count() * o.columns, [&](std::size_t piece) {
      const std::size_t chunk = piece / o.columns, column = piece % o.columns, first = chunks.begin(chunk),
                        last = chunks.begin(chunk + 1);
      S mean = S(0), squares = S(0);
      for (std::size_t row = first; row < last; ++row) mean += static_cast<S>(x[row * o.columns + column]);
      if (first < last) mean *= S(1) / static_cast<S>(last - first);
      for (std::size_t row = first; row < last; ++row) {
        const S d = static_cast<S>(x[row * o.columns + column]) - mean;
        squares += d * d;
      }
      partial[chunk * 2 * o.columns + column] = mean;
      partial[(chunk * 2 + 1) * o.columns + column] = squares;
    });
  }
};

/// Those of the batch; the running ones move.
template <class T, class B>
struct Kernel<op::BatchNorm<T, B>, 1> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  op::BatchNorm<T, B> o;
  Memory at;

  constexpr unsigned blocks() const { return o.uses_running ? 0 : blocks_for(o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const op::RowChunks chunks = o.chunks();
    const S* const partial = at.template scratch_of<const S>();
    const S share = o.rows > 0 ? S(1) / static_cast<S>(o.rows) : S(0),
            unbiased = o.rows > 1 ? S(1) / static_cast<S>(o.rows - 1) : S(0), momentum = static_cast<S>(o.momentum);
    for_pieces(block, o.columns, [&](std::size_t column) {
      S mean = partial[column], squares = partial[o.columns + column];
      for (std::size_t chunk = 1; chunk < chunks.count(); ++chunk) {
        const S before = static_cast<S>(chunks.begin(chunk)), all = static_cast<S>(chunks.begin(chunk + 1)),
                here = all - before, delta = partial[chunk * 2 * o.columns + column] - mean;
        mean += delta * (here / all);
        squares += partial[(chunk * 2 + 1) * o.columns + column] + delta * delta * (before * here / all);
      }
      at(o.mean)[column] = mean;
      at(o.rstd)[column] = S(1) / std::sqrt(squares * share + static_cast<S>(o.epsilon));
      if (!o.moves || o.rows == 0 || !is_finite(mean) || !is_finite(squares)) return;
      B &running_mean = at(o.running_mean)[column], &running_variance = at(o.running_variance)[column];
      const S old_mean = static_cast<S>(running_mean), old_variance = static_cast<S>(running_variance);
      running_mean = static_cast<B>(old_mean + momentum * (mean - old_mean));
      if (o.rows > 1) running_variance = static_cast<B>(old_variance + momentum * (squares * unbiased - old_variance));
    });
  }
};

/// y.
template <class T, class B>
struct Kernel<op::BatchNorm<T, B>, 2> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 256;
  op::BatchNorm<T, B> o;
  Memory at;

  constexpr unsigned blocks() const { return o.rows == 0 ? 0 : blocks_for(o.rows * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const x = at(o.x), *const gain = at(o.gain), *const bias = at(o.bias);
    T* const y = at(o.y);
    for_pieces(block, o.rows * o.columns, [&](std::size_t i) {
      const std::size_t column = i % o.columns;
      S mean, rstd;
      if (o.uses_running) {
        mean = static_cast<S>(at(o.running_mean)[column]);
        rstd = S(1) / std::sqrt(static_cast<S>(at(o.running_variance)[column]) + static_cast<S>(o.epsilon));
      } else {
        mean = at(o.mean)[column];
        rstd = at(o.rstd)[column];
      }
      y[i] = static_cast<T>((static_cast<S>(x[i]) - mean) * rstd * static_cast<S>(gain[column]) +
                            static_cast<S>(bias[column]));
    });
  }
};

/// The sums of each chunk that all gradients are made of.
///
/// cost   x and d_y twice, d_x once
template <class T, class G>
struct Kernel<op::BatchNormBackward<T, G>, 0> final {
  using S = statistic_t<T>;
  static constexpr unsigned passes = 3, threads = 256;
  op::BatchNormBackward<T, G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::BatchNormBackward<T, G>& operation) {
    return operation.chunks().template bytes<S>();
  }
  constexpr unsigned blocks() const { return blocks_for(o.chunks().count() * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const op::RowChunks chunks = o.chunks();
    const T *const x = at(o.x), *const d_y = at(o.d_y);
    S* const partial = at.template scratch_of<S>();
    for_pieces(block, chunks.count() * o.columns, [&](std::size_t piece) {
      const std::size_t chunk = piece / o.columns, column = piece % o.columns, last = chunks.begin(chunk + 1);
      const S mean = at(o.mean)[column], rstd = at(o.rstd)[column];
      S sum_d = S(0), sum_dn = S(0);
      for (std::size_t row = chunks.begin(chunk); row < last; ++row) {
        const S d = static_cast<S>(d_y[row * o.columns + column]);
        sum_d += d;
        sum_dn += d * ((static_cast<S>(x[row * o.columns + column]) - mean) * rstd);
      }
      partial[chunk * 2 * o.columns + column] = sum_d;
      partial[(chunk * 2 + 1) * o.columns + column] = sum_dn;
    });
  }
};

/// The sums of the batch: the gradients of gain and bias, and the means that d_x needs.
template <class T, class G>
struct Kernel<op::BatchNormBackward<T, G>, 1> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  op::BatchNormBackward<T, G> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const std::size_t chunks = o.chunks().count();
    S* const partial = at.template scratch_of<S>();
    G *const d_gain = at.optional(o.d_gain), *const d_bias = at.optional(o.d_bias);
    const S share = o.rows > 0 ? S(1) / static_cast<S>(o.rows) : S(0);
    for_pieces(block, o.columns, [&](std::size_t column) {
      S sum_d = partial[column], sum_dn = partial[o.columns + column];
      for (std::size_t chunk = 1; chunk < chunks; ++chunk) {
        sum_d += partial[chunk * 2 * o.columns + column];
        sum_dn += partial[(chunk * 2 + 1) * o.columns + column];
      }
      if (d_gain != nullptr) {
        d_gain[column] = static_cast<G>(o.add ? static_cast<S>(d_gain[column]) + sum_dn : sum_dn);
        d_bias[column] = static_cast<G>(o.add ? static_cast<S>(d_bias[column]) + sum_d : sum_d);
      }
      partial[chunks * 2 * o.columns + column] = sum_d * share;
      partial[(chunks * 2 + 1) * o.columns + column] = sum_dn * share;
    });
  }
};

/// d_x.
template <class T, class G>
struct Kernel<op::BatchNormBackward<T, G>, 2> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 256;
  op::BatchNormBackward<T, G> o;
  Memory at;

  constexpr unsigned blocks() const {
    return o.d_x.is_absent() || o.rows == 0 ? 0 : blocks_for(o.rows * o.columns, threads);
  }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const x = at(o.x), *const gain = at(o.gain), *const d_y = at(o.d_y);
    T* const d_x = at(o.d_x);
    const S *const mean_d = at.template scratch_of<const S>() + o.chunks().count() * 2 * o.columns, *const mean_dn =
                                                                                                        mean_d +
                                                                                                        o.columns;
    for_pieces(block, o.rows * o.columns, [&](std::size_t i) {
      const std::size_t column = i % o.columns;
      const S rstd = at(o.rstd)[column], normal = (static_cast<S>(x[i]) - at(o.mean)[column]) * rstd,
              centered = static_cast<S>(d_y[i]) - mean_d[column] - normal * mean_dn[column];
      d_x[i] = static_cast<T>(centered * (static_cast<S>(gain[column]) * rstd));
    });
  }
};

template <class T>
struct Kernel<op::MeanOfRanks<T>> final {
  static constexpr unsigned threads = 256;
  op::MeanOfRanks<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T share = T(1) / static_cast<T>(o.ranks);
    for_pieces(block, o.count, [&](std::size_t i) {
      T sum = at(o.x)[i];
      for (std::size_t rank = 1; rank < o.ranks; ++rank) sum += at(o.x)[rank * o.count + i];
      at(o.y)[i] = sum * share;
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
