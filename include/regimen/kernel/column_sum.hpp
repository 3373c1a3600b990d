// regimen/kernel/column_sum.hpp — sums over rows: gradients of biases and tables.
#pragma once

#include <regimen/core/activation.hpp>
#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>
#include <utility>

namespace regimen::kernel {

/// The launch that joins what chunks of rows give each column. A block takes 32 columns, and for each 32 threads, which
/// add every 32nd chunk: a hundred chunks cost the time of a few loads one after another, not of a hundred. Then the
/// threads' sums, in four parts.
///
/// error   chunks / 32 + 11 roundings to S
struct JoinSums final {
  static constexpr unsigned strip = warp_lanes, shares = 32, threads = strip * shares;
  template <class S>
  static constexpr std::size_t shared_bytes = threads * sizeof(S);
  static constexpr unsigned blocks(std::size_t columns) { return blocks_for((columns + strip - 1) / strip, 1); }

  /// put(column, sum) of `partial` (chunks, columns).
  REGIMEN_HD_UNCHECKED
  template <class S, class Block, class Put>
  REGIMEN_HD static void join(const Block& block, const S* partial, std::size_t chunks, std::size_t columns,
                              const Put& put) {
    const auto parts = block.template shared<S>(0, threads);
    for (std::size_t first = std::size_t{block.index()} * strip; first < columns;
         first += std::size_t{block.blocks()} * strip) {
      for (unsigned t = block.thread(); t < threads; t += block.threads()) {
        const std::size_t column = first + t % strip;
        S sum = S(0);
        if (column < columns)
          for (std::size_t chunk = t / strip; chunk < chunks; chunk += shares) sum += partial[chunk * columns + column];
        parts[t] = sum;
      }
      block.sync();
      for (unsigned t = block.thread(); t < strip && first + t < columns; t += block.threads()) {
        S sum[4] = {};
        for (unsigned share = 0; share < shares; share += 4)
          for (unsigned k = 0; k < 4; ++k) sum[k] += static_cast<S>(parts[(share + k) * strip + t]);
        put(first + t, (sum[0] + sum[1]) + (sum[2] + sum[3]));
      }
      block.sync();
    }
  }
  /// to = sum, or to + sum, rounded once
  template <class S, class G>
  REGIMEN_HD static void put(S sum, G& to, bool add) {
    to = static_cast<G>(add ? static_cast<S>(to) + sum : sum);
  }
};

/// The sums that the first launch of an operation leaves in its scratch: `chunks` rows of `columns`; no columns if
/// nothing is left to join. The totals of the first `split` columns go to `to`, the others to `rest`, if it is there.
template <class S, class G>
struct LeftSums final {
  using Number = S;
  std::size_t chunks, columns, split;
  View<G> to, rest{};
  bool add;
};

/// The second launch of an operation that has sums_left(operation, Launch<1>).
template <class Operation>
  requires requires(const Operation& o) { sums_left(o, Launch<1>{}); }
struct Kernel<Operation, 1> final {
  using S = typename decltype(sums_left(std::declval<const Operation&>(), Launch<1>{}))::Number;
  static constexpr unsigned threads = JoinSums::threads;
  static constexpr std::size_t shared_bytes = JoinSums::shared_bytes<S>;
  Operation o;
  Memory at;

  constexpr unsigned blocks() const {
    const auto left = sums_left(o, Launch<1>{});
    return left.columns == 0 ? 0 : JoinSums::blocks(left.columns);
  }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const auto left = sums_left(o, Launch<1>{});
    JoinSums::join(block, at.template scratch_of<const S>(), left.chunks, left.columns, [&](std::size_t i, S sum) {
      if (i < left.split) JoinSums::put(sum, at(left.to)[i], left.add);
      else if (!left.rest.is_absent()) JoinSums::put(sum, at(left.rest)[i - left.split], left.add);
    });
  }
};

/// Σ over the rows of (rows, columns), in two launches. The first cuts the rows into chunks, a thread for each chunk
/// and 16 bytes of columns, which adds 64 rows at a time; the second adds the chunks. All cuts depend on the shape
/// alone, so the bits are the same for any number of threads. At most 64 rows are one chunk, added in order.
///
/// error   64 + rows / (64 · chunks) + chunks / 32 + 11 roundings to S, then one to G
/// cost    reads its terms once; scratch of at most 2^19 S, or of a row
struct ColumnSum final {
  static constexpr std::size_t at_once = 64, most_sums = std::size_t{1} << 19;
  std::size_t rows = 0, columns = 0, leading = 0;  // leading: elements from row to row of the terms; 0: columns

  REGIMEN_HD constexpr std::size_t row() const { return leading > 0 ? leading : columns; }
  REGIMEN_HD constexpr std::size_t chunks() const {
    const std::size_t by_rows = (rows + at_once - 1) / at_once, by_room = most_sums / columns,
                      most = by_rows < by_room ? by_rows : by_room;
    return most == 0 ? 1 : most;
  }
  REGIMEN_HD constexpr std::size_t begin(std::size_t chunk) const { return rows * chunk / chunks(); }
  /// Sums between the two launches; a single chunk writes its result itself.
  constexpr std::size_t sums() const { return chunks() == 1 ? 0 : chunks() * columns; }
  constexpr unsigned blocks(unsigned width, unsigned threads) const {
    return blocks_for(chunks() * ((columns + width - 1) / width), threads);
  }
  /// For the second.
  template <class S, class G>
  REGIMEN_HD constexpr LeftSums<S, G> left(View<G> to, bool add) const {
    const bool is_done = chunks() == 1 || to.is_absent();
    return {.chunks = chunks(), .columns = is_done ? 0 : columns, .split = columns, .to = to, .add = add};
  }

  /// The first launch. Terms give load<n>(i, column), and value<n>(loaded, i) of what it gave, which may write:
  /// `together` rows are loaded before any of them is written. No sums where `sums` is null.
  REGIMEN_HD_UNCHECKED
  template <unsigned width, class S, class G, class Block, class Terms>
  REGIMEN_HD void add_rows(const Block& block, const Terms& terms, bool aligned, S* partial, G* sums, bool add) const {
    if (aligned && columns % width == 0 && row() % width == 0) add_rows_of<width>(block, terms, partial, sums, add);
    else add_rows_of<1>(block, terms, partial, sums, add);
  }

  /// The scratch that lies between the launches; null where there is none.
  template <class S>
  REGIMEN_HD S* partial(const Memory& at) const {
    return chunks() == 1 ? nullptr : at.template scratch_of<S>();
  }

 private:
  REGIMEN_HD_UNCHECKED
  template <unsigned n, class S, class G, class Block, class Terms>
  REGIMEN_HD void add_rows_of(const Block& block, const Terms& terms, S* partial, G* sums, bool add) const {
    constexpr unsigned together = Terms::together;
    const std::size_t packs = columns / n, count = chunks(), row = this->row();
    for_pieces(block, count * packs, [&](std::size_t piece) {
      const std::size_t chunk = piece / packs, column = piece % packs * n;
      S sum[n] = {};
      std::size_t left = begin(chunk + 1) - begin(chunk), i = begin(chunk) * row + column;
      while (left > 0) {
        // Counts and one running index: rows as indices of their own take registers until some spill.
        unsigned rest = left < at_once ? static_cast<unsigned>(left) : unsigned{at_once};
        left -= rest;
        S part[n] = {};
        const auto add_values = [&](const Pack<S, n>& values) {
          for (unsigned k = 0; k < n; ++k) part[k] += values.at[k];
        };
        for (; rest >= together; rest -= together, i += together * row) {
          // Written out: in a loop that the compiler does not unroll, what is loaded lies in memory.
          [&]<unsigned... r>(std::integer_sequence<unsigned, r...>) {
            const typename Terms::template ValuePacks<n> loaded[] = {terms.template load<n>(i + r * row)...};
            (add_values(terms.template value<n>(loaded[r], i + r * row, column)), ...);
          }(std::make_integer_sequence<unsigned, together>{});
        }
        for (; rest > 0; --rest, i += row) add_values(terms.template value<n>(terms.template load<n>(i), i, column));
        for (unsigned k = 0; k < n; ++k) sum[k] += part[k];
      }
      if (sums == nullptr) return;
      for (unsigned k = 0; k < n; ++k) {
        if (count > 1) partial[chunk * columns + column + k] = sum[k];
        else JoinSums::put(sum[k], sums[column + k], add);
      }
    });
  }
};

namespace detail {

/// Terms that are there.
template <class T>
struct StoredTerms final {
  using S = statistic_t<T>;
  static constexpr unsigned together = 8;
  const T* d_y;

  template <unsigned n>
  using ValuePacks = Pack<T, n>;
  template <unsigned n>
  REGIMEN_HD Pack<T, n> load(std::size_t i) const {
    return read<n>(d_y + i);
  }
  template <unsigned n>
  REGIMEN_HD Pack<S, n> value(const Pack<T, n>& loaded, std::size_t, std::size_t) const {
    Pack<S, n> values;
    for (unsigned k = 0; k < n; ++k) values.at[k] = static_cast<S>(loaded.at[k]);
    return values;
  }
};

/// d_y · act'(x + bias), written to d_x on the way; summed before it is rounded.
template <class Activation, class T>
struct ActivationTerms final {
  using S = statistic_t<T>;
  static constexpr unsigned together = 4;
  const T *x, *bias, *d_y;
  T* d_x;

  template <unsigned n>
  struct ValuePacks {
    Pack<T, n> x, d_y;
  };
  template <unsigned n>
  REGIMEN_HD ValuePacks<n> load(std::size_t i) const {
    return {read<n>(x + i), read<n>(d_y + i)};
  }
  REGIMEN_HD_UNCHECKED
  template <unsigned n>
  REGIMEN_HD Pack<S, n> value(const ValuePacks<n>& loaded, std::size_t i, std::size_t column) const {
    Pack<T, n> shift{}, rounded;
    if (bias != nullptr) shift = read<n>(bias + column);
    Pack<S, n> values;
    for (unsigned k = 0; k < n; ++k) {
      const S at = bias == nullptr ? static_cast<S>(loaded.x.at[k])
                                   : static_cast<S>(loaded.x.at[k]) + static_cast<S>(shift.at[k]);
      values.at[k] = static_cast<S>(loaded.d_y.at[k]) * Activation::template derivative<S>(at);
      rounded.at[k] = static_cast<T>(values.at[k]);
    }
    write(rounded, d_x + i);
    return values;
  }
};

/// d_y · x; d_y · gain is written to d_x on the way.
template <class T>
struct ScaleTerms final {
  using S = statistic_t<T>;
  static constexpr unsigned together = 4;
  const T *x, *gain, *d_y;
  T* d_x;

  template <unsigned n>
  struct ValuePacks {
    Pack<T, n> x, d_y;
  };
  template <unsigned n>
  REGIMEN_HD ValuePacks<n> load(std::size_t i) const {
    return {read<n>(x + i), read<n>(d_y + i)};
  }
  REGIMEN_HD_UNCHECKED
  template <unsigned n>
  REGIMEN_HD Pack<S, n> value(const ValuePacks<n>& loaded, std::size_t i, std::size_t column) const {
    const auto factors = read<n>(gain + column);
    Pack<T, n> rounded;
    Pack<S, n> values;
    for (unsigned k = 0; k < n; ++k) {
      const S d = static_cast<S>(loaded.d_y.at[k]);
      values.at[k] = d * static_cast<S>(loaded.x.at[k]);
      rounded.at[k] = static_cast<T>(d * static_cast<S>(factors.at[k]));
    }
    write(rounded, d_x + i);
    return values;
  }
};

}  // namespace detail

template <class T, class G>
struct Kernel<op::ScaleBackward<T, G>, 0> final {
  using S = statistic_t<T>;
  static constexpr unsigned passes = 2, threads = 128, width = pack_of<T>;
  op::ScaleBackward<T, G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::ScaleBackward<T, G>& operation) {
    return ColumnSum{operation.rows, operation.columns}.sums() * sizeof(S);
  }
  constexpr unsigned blocks() const { return ColumnSum{o.rows, o.columns}.blocks(width, threads); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const x = at(o.x), *const gain = at(o.gain), *const d_y = at(o.d_y);
    T* const d_x = at(o.d_x);
    const ColumnSum sum{o.rows, o.columns};
    sum.template add_rows<width>(block, detail::ScaleTerms<T>{x, gain, d_y, d_x}, are_aligned(x, gain, d_y, d_x),
                                 sum.template partial<S>(at), at(o.d_gain), o.add);
  }
};

template <class T, class G>
REGIMEN_HD constexpr auto sums_left(const op::ScaleBackward<T, G>& o, Launch<1>) {
  return ColumnSum{o.rows, o.columns}.left<statistic_t<T>>(o.d_gain, o.add);
}

template <class Activation, class T, class G>
struct Kernel<op::BiasBackward<Activation, T, G>, 0> final {
  using S = statistic_t<T>;
  static constexpr bool writes = op::BiasBackward<Activation, T, G>::activates;
  // For more than four blocks the compiler spills in some type, and without a number it takes so few registers that
  // loads wait for one another: by its report, not by a measurement.
  static constexpr unsigned passes = 2, threads = 128, resident = 4, width = pack_of<T>;
  op::BiasBackward<Activation, T, G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::BiasBackward<Activation, T, G>& operation) {
    return operation.d_bias.is_absent() ? 0 : ColumnSum{operation.rows, operation.columns}.sums() * sizeof(S);
  }
  constexpr unsigned blocks() const {
    return !writes && o.d_bias.is_absent() ? 0 : ColumnSum{o.rows, o.columns}.blocks(width, threads);
  }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const d_y = at(o.d_y), *const bias = at.optional(o.bias);
    G* const d_bias = at.optional(o.d_bias);
    const ColumnSum sum{o.rows, o.columns, o.leading};
    S* const partial = d_bias == nullptr ? nullptr : sum.template partial<S>(at);
    if constexpr (writes) {
      const T* const x = at(o.x);
      T* const d_x = at(o.d_x);
      const bool aligned = are_aligned(x, d_y, d_x) && (bias == nullptr || are_aligned(bias));
      sum.template add_rows<width>(block, detail::ActivationTerms<Activation, T>{x, bias, d_y, d_x}, aligned, partial,
                                   d_bias, o.add);
    } else {
      sum.template add_rows<width>(block, detail::StoredTerms<T>{d_y}, are_aligned(d_y), partial, d_bias, o.add);
    }
  }
};

template <class Activation, class T, class G>
REGIMEN_HD constexpr auto sums_left(const op::BiasBackward<Activation, T, G>& o, Launch<1>) {
  return ColumnSum{o.rows, o.columns}.left<statistic_t<T>>(o.d_bias, o.add);
}

template <class T, class G>
struct Kernel<op::AddTableBackward<T, G>, 0> final {
  using S = statistic_t<T>;
  static constexpr unsigned passes = 2, threads = 128, resident = 4, width = pack_of<T>;
  op::AddTableBackward<T, G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::AddTableBackward<T, G>& operation) {
    return ColumnSum{operation.samples, operation.elements}.sums() * sizeof(S);
  }
  constexpr unsigned blocks() const { return ColumnSum{o.samples, o.elements}.blocks(width, threads); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T* const d_y = at(o.d_y);
    const ColumnSum sum{o.samples, o.elements};
    sum.template add_rows<width>(block, detail::StoredTerms<T>{d_y}, are_aligned(d_y), sum.template partial<S>(at),
                                 at(o.d_table), o.add);
  }
};

template <class T, class G>
REGIMEN_HD constexpr auto sums_left(const op::AddTableBackward<T, G>& o, Launch<1>) {
  return ColumnSum{o.samples, o.elements}.left<statistic_t<T>>(o.d_table, o.add);
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
