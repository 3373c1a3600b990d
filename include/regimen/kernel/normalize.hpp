// regimen/kernel/normalize.hpp — layer and RMS normalisation, forward and backward.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>

#include <cmath>
#include <cstddef>

namespace regimen::kernel {

/// A block takes a row: the mean first, then the mean of (x − mean)², so that no mean cancels.
template <bool Centered, class T>
struct Kernel<op::Normalize<Centered, T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 256;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  op::Normalize<Centered, T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows, 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const x = at(o.x), *const gain = at(o.gain), *const bias = Centered ? at(o.bias) : nullptr;
    T* const y = at(o.y);
    S *const means = Centered ? at(o.mean) : nullptr, *const rstds = at(o.rstd);
    const S scale = S(1) / static_cast<S>(o.columns);
    for (std::size_t row = block.index(); row < o.rows; row += block.blocks()) {
      const T* const from = x + row * o.columns;
      T* const to = y + row * o.columns;
      S mean = S(0);
      if constexpr (Centered) {
        S sum = S(0);
        for (std::size_t i = block.thread(); i < o.columns; i += block.threads()) sum += static_cast<S>(from[i]);
        mean = combined<Sum>(block, sum) * scale;
      }
      S squares = S(0);
      for (std::size_t i = block.thread(); i < o.columns; i += block.threads()) {
        const S difference = static_cast<S>(from[i]) - mean;
        squares += difference * difference;
      }
      const S rstd = S(1) / std::sqrt(combined<Sum>(block, squares) * scale + static_cast<S>(o.epsilon));
      if (block.thread() == 0) {
        if constexpr (Centered) means[row] = mean;
        rstds[row] = rstd;
      }
      for (std::size_t i = block.thread(); i < o.columns; i += block.threads()) {
        const S normal = (static_cast<S>(from[i]) - mean) * rstd, scaled = normal * static_cast<S>(gain[i]);
        to[i] = static_cast<T>(Centered ? scaled + static_cast<S>(bias[i]) : scaled);
      }
    }
  }
};

/// Pieces of the rows whose sums d_gain and d_bias are made of, in order: a constant, so
/// that bits depend on shape alone.
inline constexpr std::size_t normalize_chunks = 64;

/// The sums over the rows of each chunk, column by column: they read d_y, over which the next launch may write d_x.
template <bool Centered, class T, class G>
struct Kernel<op::NormalizeBackward<Centered, T, G>, 0> final {
  using S = statistic_t<T>;
  static constexpr unsigned passes = 3, threads = 128;
  op::NormalizeBackward<Centered, T, G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::NormalizeBackward<Centered, T, G>& operation) {
    return operation.d_gain.is_absent() ? 0 : normalize_chunks * 2 * operation.columns * sizeof(S);
  }
  constexpr unsigned blocks() const {
    return o.d_gain.is_absent() ? 0 : blocks_for(o.columns * normalize_chunks, threads);
  }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const x = at(o.x), *const d_y = at(o.d_y);
    const S *const means = Centered ? at(o.mean) : nullptr, *const rstds = at(o.rstd);
    S* const partial = at.template scratch_of<S>();
    for_pieces(block, o.columns * normalize_chunks, [&](std::size_t piece) {
      const std::size_t chunk = piece / o.columns, i = piece % o.columns;
      const std::size_t begin = o.rows * chunk / normalize_chunks, end = o.rows * (chunk + 1) / normalize_chunks;
      S gain = S(0), bias = S(0);
      for (std::size_t row = begin; row < end; ++row) {
        const S d = static_cast<S>(d_y[row * o.columns + i]), mean = Centered ? means[row] : S(0);
        gain += d * (static_cast<S>(x[row * o.columns + i]) - mean) * rstds[row];
        bias += d;
      }
      partial[chunk * 2 * o.columns + i] = gain;
      partial[(chunk * 2 + 1) * o.columns + i] = bias;
    });
  }
};

/// d_x, a block a row.
template <bool Centered, class T, class G>
struct Kernel<op::NormalizeBackward<Centered, T, G>, 1> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 256;
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  op::NormalizeBackward<Centered, T, G> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows, 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const x = at(o.x), *const gain = at(o.gain), *const d_y = at(o.d_y);
    T* const d_x = at(o.d_x);
    const S *const means = Centered ? at(o.mean) : nullptr, *const rstds = at(o.rstd);
    const S scale = S(1) / static_cast<S>(o.columns);
    for (std::size_t row = block.index(); row < o.rows; row += block.blocks()) {
      const std::size_t first = row * o.columns;
      const S mean = Centered ? means[row] : S(0), rstd = rstds[row];
      S sum_e = S(0), sum_en = S(0);
      for (std::size_t i = block.thread(); i < o.columns; i += block.threads()) {
        const S e = static_cast<S>(d_y[first + i]) * static_cast<S>(gain[i]),
                normal = (static_cast<S>(x[first + i]) - mean) * rstd;
        sum_e += e;
        sum_en += e * normal;
      }
      const S mean_e = Centered ? combined<Sum>(block, sum_e) * scale : S(0),
              mean_en = combined<Sum>(block, sum_en) * scale;
      for (std::size_t i = block.thread(); i < o.columns; i += block.threads()) {
        const S e = static_cast<S>(d_y[first + i]) * static_cast<S>(gain[i]),
                normal = (static_cast<S>(x[first + i]) - mean) * rstd;
        d_x[first + i] = static_cast<T>((e - mean_e - normal * mean_en) * rstd);
      }
    }
  }
};

/// The chunks' sums, in order.
template <bool Centered, class T, class G>
struct Kernel<op::NormalizeBackward<Centered, T, G>, 2> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 128;
  op::NormalizeBackward<Centered, T, G> o;
  Memory at;

  constexpr unsigned blocks() const { return o.d_gain.is_absent() ? 0 : blocks_for(o.columns, threads); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    G *const d_gain = at(o.d_gain), *const d_bias = Centered ? at.optional(o.d_bias) : nullptr;
    const S* const partial = at.template scratch_of<S>();
    for_pieces(block, o.columns, [&](std::size_t i) {
      write(partial + i, d_gain + i);
      if (d_bias != nullptr) write(partial + o.columns + i, d_bias + i);
    });
  }

 private:
  REGIMEN_HD void write(const S* from, G* to) const {
    S sum = from[0];
    for (std::size_t chunk = 1; chunk < normalize_chunks; ++chunk) sum += from[chunk * 2 * o.columns];
    *to = static_cast<G>(o.add ? static_cast<S>(*to) + sum : sum);
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
