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

/// The mean and the squares around it of each chunk.   to (chunks,2,columns)
REGIMEN_HD_UNCHECKED
template <class Block, class S, class T>
REGIMEN_HD void chunk_moments(const Block& block, const op::RowChunks& chunks, const T* x, S* to) {
  for_pieces(block, chunks.count() * chunks.columns, [&](std::size_t piece) {
    const std::size_t chunk = piece / chunks.columns, column = piece % chunks.columns, first = chunks.begin(chunk),
                      last = chunks.begin(chunk + 1);
    S mean = S(0), squares = S(0);
    for (std::size_t row = first; row < last; ++row) mean += static_cast<S>(x[row * chunks.columns + column]);
    if (first < last) mean *= S(1) / static_cast<S>(last - first);
    for (std::size_t row = first; row < last; ++row) {
      const S d = static_cast<S>(x[row * chunks.columns + column]) - mean;
      squares += d * d;
    }
    to[chunk * 2 * chunks.columns + column] = mean;
    to[(chunk * 2 + 1) * chunks.columns + column] = squares;
  });
}
/// The sums of d_y and d_y · n of each chunk.   to (chunks,2,columns)
REGIMEN_HD_UNCHECKED
template <class Block, class S, class T>
REGIMEN_HD void chunk_sums(const Block& block, const op::RowChunks& chunks, const T* x, const T* d_y, const S* means,
                           const S* rstds, S* to) {
  for_pieces(block, chunks.count() * chunks.columns, [&](std::size_t piece) {
    const std::size_t chunk = piece / chunks.columns, column = piece % chunks.columns, last = chunks.begin(chunk + 1);
    const S mean = means[column], rstd = rstds[column];
    S sum_d = S(0), sum_dn = S(0);
    for (std::size_t row = chunks.begin(chunk); row < last; ++row) {
      const S d = static_cast<S>(d_y[row * chunks.columns + column]);
      sum_d += d;
      sum_dn += d * ((static_cast<S>(x[row * chunks.columns + column]) - mean) * rstd);
    }
    to[chunk * 2 * chunks.columns + column] = sum_d;
    to[(chunk * 2 + 1) * chunks.columns + column] = sum_dn;
  });
}
/// A number of each of `count` descriptions, `apart` numbers from one to the next, added in their order.
template <class S>
REGIMEN_HD S sum_over(const S* of_each, std::size_t count, std::size_t apart) {
  S sum = of_each[0];
  for (std::size_t i = 1; i < count; ++i) sum += of_each[i * apart];
  return sum;
}

}  // namespace detail

template <class T>
struct Kernel<op::BatchMoments<T>, 0> final {
  using S = statistic_t<T>;
  static constexpr unsigned passes = 2, threads = 256;
  op::BatchMoments<T> o;
  Memory at;

  static constexpr std::size_t scratch(const op::BatchMoments<T>& operation) {
    return operation.chunks().template bytes<S>();
  }
  constexpr unsigned blocks() const { return blocks_for(o.chunks().count() * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::chunk_moments(block, o.chunks(), at(o.x), at.template scratch_of<S>());
  }
};
template <class T>
struct Kernel<op::BatchMoments<T>, 1> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  op::BatchMoments<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    S* const y = at(o.y);
    for_pieces(block, o.columns, [&](std::size_t column) {
      const op::Moments<S> all = op::moments_of_chunks(at.template scratch_of<const S>(), o.chunks(), column);
      y[column] = all.mean;
      y[o.columns + column] = all.squares;
      if (column == 0) y[2 * o.columns] = static_cast<S>(o.rows);
    });
  }
};

template <class T>
struct Kernel<op::BatchSums<T>, 0> final {
  using S = statistic_t<T>;
  static constexpr unsigned passes = 2, threads = 256;
  op::BatchSums<T> o;
  Memory at;

  static constexpr std::size_t scratch(const op::BatchSums<T>& operation) {
    return operation.chunks().template bytes<S>();
  }
  constexpr unsigned blocks() const { return blocks_for(o.chunks().count() * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::chunk_sums(block, o.chunks(), at(o.x), at(o.d_y), at(o.mean), at(o.rstd), at.template scratch_of<S>());
  }
};
template <class T>
struct Kernel<op::BatchSums<T>, 1> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  op::BatchSums<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(2 * o.columns, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    S* const y = at(o.y);
    for_pieces(block, 2 * o.columns, [&](std::size_t i) {
      y[i] = detail::sum_over(at.template scratch_of<const S>() + i, o.chunks().count(), 2 * o.columns);
      if (i == 0) y[2 * o.columns] = static_cast<S>(o.rows);
    });
  }
};

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
    return operation.sums_rows() ? operation.chunks().template bytes<S>() : 0;
  }
  constexpr unsigned blocks() const { return o.sums_rows() ? blocks_for(o.chunks().count() * o.columns, threads) : 0; }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::chunk_moments(block, o.chunks(), at(o.x), at.template scratch_of<S>());
  }
};

/// Those of the batch, and the running ones move; or the running ones, for backward.
template <class T, class B>
struct Kernel<op::BatchNorm<T, B>, 1> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  op::BatchNorm<T, B> o;
  Memory at;

  constexpr unsigned blocks() const {
    return o.uses_running && o.mean.is_absent() ? 0 : blocks_for(o.columns, threads);
  }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const S* const of_ranks = at.optional(o.of_ranks);
    const S momentum = static_cast<S>(o.momentum);
    for_pieces(block, o.columns, [&](std::size_t column) {
      if (o.uses_running) {
        at(o.mean)[column] = static_cast<S>(at(o.running_mean)[column]);
        at(o.rstd)[column] =
            S(1) / std::sqrt(static_cast<S>(at(o.running_variance)[column]) + static_cast<S>(o.epsilon));
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

  static constexpr std::size_t scratch(const op::BatchNormBackward<T, G>& operation) { return operation.bytes(); }
  constexpr unsigned blocks() const { return o.sums_rows() ? blocks_for(o.chunks().count() * o.columns, threads) : 0; }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::chunk_sums(block, o.chunks(), at(o.x), at(o.d_y), at(o.mean), at(o.rstd), at.template scratch_of<S>());
  }
};

/// The sums of the batch: the gradients of gain and bias, and the means that d_x needs.
template <class T, class G>
struct Kernel<op::BatchNormBackward<T, G>, 1> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  op::BatchNormBackward<T, G> o;
  Memory at;

  constexpr unsigned blocks() const {
    return o.sums_rows() || !o.of_ranks.is_absent() ? blocks_for(2 * o.columns, threads) : 0;
  }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const S* const of_ranks = at.optional(o.of_ranks);
    S* const partial = at.template scratch_of<S>();
    S* const means = partial + o.partial_sums();
    G *const d_gain = at.optional(o.d_gain), *const d_bias = at.optional(o.d_bias);
    const std::size_t apart = op::described_by(o.columns);
    const S rows = of_ranks == nullptr ? static_cast<S>(o.rows)
                                       : detail::sum_over(of_ranks + 2 * o.columns, o.ranks, apart),
            share = rows > S(0) ? S(1) / rows : S(0);
    for_pieces(block, 2 * o.columns, [&](std::size_t i) {  // of d_y, then of d_y · n
      const S all = of_ranks == nullptr ? detail::sum_over(partial + i, o.chunks().count(), 2 * o.columns)
                                        : detail::sum_over(of_ranks + i, o.ranks, apart),
              own = of_ranks == nullptr ? all : of_ranks[o.rank * apart + i];
      if (d_gain != nullptr) {
        G& gradient = i < o.columns ? d_bias[i] : d_gain[i - o.columns];
        gradient = static_cast<G>(o.add ? static_cast<S>(gradient) + own : own);
      }
      means[i] = all * share;
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
    const S* const mean_d = at.template scratch_of<const S>() + o.partial_sums();
    const S* const mean_dn = mean_d + o.columns;
    for_pieces(block, o.rows * o.columns, [&](std::size_t i) {
      const std::size_t column = i % o.columns;
      const S rstd = at(o.rstd)[column];
      if (o.uses_running) {
        d_x[i] = static_cast<T>(static_cast<S>(d_y[i]) * (static_cast<S>(gain[column]) * rstd));
        return;
      }
      const S normal = (static_cast<S>(x[i]) - at(o.mean)[column]) * rstd,
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
      const T first = at(o.x)[i];
      T apart = T(0);
      for (std::size_t rank = 1; rank < o.ranks; ++rank) apart += at(o.x)[rank * o.count + i] - first;
      at(o.y)[i] = first + apart * share;
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
