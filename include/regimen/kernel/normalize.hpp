// regimen/kernel/normalize.hpp — layer and RMS normalisation, forward and backward.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/column_sum.hpp>
#include <regimen/kernel/elementwise.hpp>
#include <regimen/kernel/rows.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace regimen::kernel {

/// The mean first, then the mean of (x − mean)², so that no mean cancels.
///
/// cost   x, y, gain and bias once, the least: in 16 bits a warp holds rows of up to 1024 columns, a block rows of up
///        to 8192; in fp32 half of that. Rows that are no multiple of 16 bytes are held up to 128 and 1024 columns.
///        Longer ones are read three times, twice of them from the caches
template <bool Centered, class T>
struct Kernel<op::Normalize<Centered, T>> final {
  using S = statistic_t<T>;
  static constexpr unsigned threads = 256, resident = 4;  // for five the compiler spills on sm_100
  static constexpr std::size_t shared_bytes = combined_bytes<S>;
  op::Normalize<Centered, T> o;
  Memory at;

  constexpr unsigned blocks() const { return rows().blocks(); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const T *const x = at(o.x), *const gain = at(o.gain), *const bias = Centered ? at(o.bias) : nullptr;
    T* const y = at(o.y);
    S *const means = Centered ? at(o.mean) : nullptr, *const rstds = at(o.rstd);
    const S scale = S(1) / static_cast<S>(o.columns);
    rows().for_each(block, [&]<unsigned n, bool held>(const auto& team, std::size_t row) {
      const std::size_t first = row * o.columns;
      auto part = part_of_row<n, held>(team, o.columns, [&](std::size_t i) { return detail::read<n>(x + first + i); });
      S mean = S(0);
      if constexpr (Centered) {
        S sum = S(0);
        part.for_each([&](std::size_t, const Pack<T, n>& run) {
          for (unsigned k = 0; k < n; ++k) sum += static_cast<S>(run.at[k]);
        });
        mean = team.template combined<Sum>(sum) * scale;
      }
      S squares = S(0);
      part.for_each([&](std::size_t, const Pack<T, n>& run) {
        for (unsigned k = 0; k < n; ++k) {
          const S difference = static_cast<S>(run.at[k]) - mean;
          squares += difference * difference;
        }
      });
      const S rstd = S(1) / std::sqrt(team.template combined<Sum>(squares) * scale + static_cast<S>(o.epsilon));
      if (team.thread() == 0) {
        if constexpr (Centered) means[row] = mean;
        rstds[row] = rstd;
      }
      part.for_each([&](std::size_t i, const Pack<T, n>& run) {
        const auto factor = detail::read<n>(gain + i);
        Pack<T, n> shift{}, result;
        if constexpr (Centered) shift = detail::read<n>(bias + i);
        for (unsigned k = 0; k < n; ++k) {
          const S normal = (static_cast<S>(run.at[k]) - mean) * rstd, scaled = normal * static_cast<S>(factor.at[k]);
          result.at[k] = static_cast<T>(Centered ? scaled + static_cast<S>(shift.at[k]) : scaled);
        }
        detail::write(result, y + first + i);
      });
    });
  }

 private:
  REGIMEN_HD constexpr RowPlan<pack_of<T>, threads> rows() const {
    return {o.rows, o.columns, are_aligned(at(o.x), at(o.y), at(o.gain)) && (!Centered || are_aligned(at(o.bias)))};
  }
};

namespace detail {

[[noreturn, gnu::cold]] inline void refuse_rows(std::size_t rows) {
  throw Error("the gradient of a norm on a device", "fewer than 2^31 rows", std::to_string(rows),
              "make Batch smaller; Accumulate<N> keeps the number of samples in an update");
}

/// The chunks of rows whose sums d_gain and d_bias are made of, in order. Their number depends on the shape alone, not
/// on the device, and so do the bits. 256 blocks keep devices of a hundred to three hundred multiprocessors busy; a
/// chunk has at least eight rows, so that its sums are no more than its terms.
struct NormalChunks final {
  static constexpr std::size_t most = 256, least_rows = 8, most_sums = std::size_t{1} << 21;
  std::size_t rows, columns;
  unsigned kinds;  // of sums for each column

  REGIMEN_HD constexpr std::size_t sums() const { return columns * kinds; }
  /// Of a chunk; the last may have fewer.
  REGIMEN_HD constexpr std::size_t rows_each() const {
    const std::size_t by_room = most_sums / sums(),
                      count = by_room == 0     ? 1
                              : by_room < most ? by_room
                                               : most,
                      each = (rows + count - 1) / count;
    return each < least_rows ? least_rows : each;
  }
  REGIMEN_HD constexpr std::size_t count() const { return rows == 0 ? 1 : (rows + rows_each() - 1) / rows_each(); }
};

template <bool Centered, class T, class G>
REGIMEN_HD constexpr NormalChunks chunks_of(const op::NormalizeBackward<Centered, T, G>& o) {
  return {o.rows, o.columns, Centered ? 2 : 1};
}

/// What the rows of a chunk add to the sums of their columns: in registers of the threads that hold the columns; for
/// rows that are not held in memory, where each thread adds to its own columns.
///   to   (kinds, columns), of this chunk; null if nobody wants them
template <unsigned n, bool held, unsigned kinds, class S>
class ChunkSums final {
 public:
  REGIMEN_HD_UNCHECKED
  template <class Team>
  REGIMEN_HD ChunkSums(const Team& team, std::size_t columns, S* to) : columns_(columns), to_(held ? nullptr : to) {
    if (!held && to != nullptr)
      for (std::size_t i = std::size_t{team.thread()} * n; i < columns; i += std::size_t{team.threads()} * n)
        for (unsigned kind = 0; kind < kinds; ++kind)
          for (unsigned k = 0; k < n; ++k) to[kind * columns + i + k] = S(0);
  }
  /// `value` of this kind to column i + k, the k-th of run r.
  template <unsigned r>
  REGIMEN_HD void add(unsigned kind, std::size_t i, unsigned k, S value) {
    if constexpr (held) at_[r][kind][k] += value;
    else if (to_ != nullptr) to_[kind * columns_ + i + k] += value;
  }
  /// The teams' sums, in order, by way of shared memory: a run of each thread at a time. Then memory has them, and they
  /// are lost here.
  REGIMEN_HD_UNCHECKED
  template <class Team>
  REGIMEN_HD void join(const Team& team, std::size_t columns, S* to) {
    if constexpr (held) {
      if (to == nullptr) return;
      // The runs take the first one's place in turn, so that a program has what joins them once.
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (unsigned first = 0; first < columns; first += team.threads() * n) {
        join_first(team, static_cast<unsigned>(columns), first, to);
        for (unsigned r = 1; r < held_runs; ++r)
          for (unsigned kind = 0; kind < kinds; ++kind)
            for (unsigned k = 0; k < n; ++k) at_[r - 1][kind][k] = at_[r][kind][k];
      }
    }
  }

  static constexpr std::size_t shared_bytes(unsigned threads) {
    return (threads + threads / warp_lanes * gap) * std::size_t{n * kinds} * sizeof(S);
  }

 private:
  /// Between what threads keep of neighbouring columns: with it neither the threads that write them one by one nor
  /// those that read neighbours meet in a bank of shared memory.
  static constexpr unsigned gap = warp_lanes / n;

  /// The first runs, whose columns begin at `first`.
  REGIMEN_HD_UNCHECKED
  template <class Team>
  REGIMEN_HD void join_first(const Team& team, unsigned columns, unsigned first, S* to) const {
    unsigned threads = team.threads(), own = team.thread(), of_block = team.block.thread(), number = team.team();
    compute_anew(threads, own, of_block, number);
    const unsigned pitch = threads + gap, teams = team.teams(), at_once = threads * n,
                   count = columns - first < at_once ? columns - first : at_once;
    const auto parts = team.block.template shared<S>(0, teams * kinds * n * pitch);
    if (own * n < count) {
      for (unsigned kind = 0; kind < kinds; ++kind)
        for (unsigned k = 0; k < n; ++k) parts[((number * kinds + kind) * n + k) * pitch + own] = at_[0][kind][k];
    }
    team.block.sync();
    for (unsigned kind = 0; kind < kinds; ++kind)
      for (unsigned i = of_block; i < count; i += team.block.threads()) {
        const unsigned place = (kind * n + i % n) * pitch + i / n;
        S sum = parts[place];
        for (unsigned other = 1; other < teams; ++other)
          sum += static_cast<S>(parts[other * kinds * n * pitch + place]);
        to[std::size_t{kind} * columns + first + i] = sum;
      }
    team.block.sync();
  }

  std::size_t columns_;
  S* to_;
  S at_[held ? held_runs : 1][kinds][n] = {};
};

}  // namespace detail

/// d_x, and for each chunk of rows the sums that d_gain and d_bias are made of: a block takes a chunk, its warps, or
/// all of it, take the rows one after another.
///
/// cost   x and d_y once, d_x once, the least, for the rows that forward holds; longer ones are read twice, and their
///        columns' sums with each row, after the first time from the caches. Beside it each chunk's sums are written
///        and read once: 16384 rows of 768 columns in 16 bits 3.1 MB beside 75.5
/// throws Error for 2^31 rows and more: 32 bits count them, as 64 would take registers that the sums need
template <bool Centered, class T, class G>
struct Kernel<op::NormalizeBackward<Centered, T, G>, 0> final {
  using S = statistic_t<T>;
  // fp16 takes more registers than two blocks have: by the compiler's report, as all of these bounds.
  static constexpr unsigned passes = 2, threads = 256, resident = std::is_same_v<T, fp16> ? 1 : 2,
                            kinds = Centered ? 2 : 1, width = pack_of<T>;
  static constexpr std::size_t shared_bytes = [] {
    const std::size_t wide = detail::ChunkSums<width, true, kinds, S>::shared_bytes(threads),
                      narrow = detail::ChunkSums<1, true, kinds, S>::shared_bytes(threads);
    return wide > narrow ? wide : narrow;
  }();
  op::NormalizeBackward<Centered, T, G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::NormalizeBackward<Centered, T, G>& operation) {
    // A constant plan is of any number of rows: it says whether they fit, in one sentence.
    if (!std::is_constant_evaluated() && operation.rows >> 31 != 0) detail::refuse_rows(operation.rows);
    const detail::NormalChunks chunks = detail::chunks_of(operation);
    return operation.d_gain.is_absent() ? 0 : chunks.count() * chunks.sums() * sizeof(S);
  }
  constexpr unsigned blocks() const { return blocks_for(detail::chunks_of(o).count(), 1); }

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    run<false>(block, nullptr);
  }
  /// onto   what is added to d_x, if it `adds`
  REGIMEN_HD_UNCHECKED
  template <bool adds, class Block>
  REGIMEN_HD void run(const Block& block, const T* onto) const {
    const T *const x = at(o.x), *const gain = at(o.gain), *const d_y = at(o.d_y);
    T* const d_x = at(o.d_x);
    const detail::NormalChunks chunks = detail::chunks_of(o);
    const RowPlan<width, threads> rows{o.rows, o.columns, are_aligned(x, gain) && are_aligned(d_y, d_x, onto)};
    const std::size_t each = chunks.rows_each();
    const unsigned count = static_cast<unsigned>(chunks.count());
    rows.with_team(block, [&]<unsigned n, bool held>(const auto& team) {
      for (unsigned chunk = team.index(); chunk < count; chunk += team.blocks()) {
        const std::size_t begin = chunk * each;
        const unsigned end = static_cast<unsigned>(begin + each < o.rows ? begin + each : o.rows);
        detail::ChunkSums<n, held, kinds, S> sums(team, o.columns, sums_of(chunk));
        for (unsigned row = static_cast<unsigned>(begin) + team.team(); row < end; row += team.teams()) {
          // Before this row is loaded, while registers are free.
          if (const unsigned next = row + team.teams(); held && next < end) {
            ask_for_part<n>(team, o.columns, x + next * o.columns);
            ask_for_part<n>(team, o.columns, d_y + next * o.columns);
            ask_for_part<1>(team, 1, at(o.rstd) + next);
            if constexpr (Centered) ask_for_part<1>(team, 1, at(o.mean) + next);
            if constexpr (adds) ask_for_part<n>(team, o.columns, onto + next * o.columns);
          }
          take<n, held, adds>(team, row, onto, sums);
        }
        sums.join(team, o.columns, sums_of(chunk));
      }
    });
  }

 private:
  template <unsigned n>
  struct Run {
    Pack<T, n> x, d_y;
  };

  REGIMEN_HD S* sums_of(unsigned chunk) const {
    return at.optional(o.d_gain) == nullptr ? nullptr
                                            : at.template scratch_of<S>() + chunk * detail::chunks_of(o).sums();
  }

  REGIMEN_HD_UNCHECKED
  template <unsigned n, bool held, bool adds, class Team, class Sums>
  REGIMEN_HD void take(const Team& team, std::size_t row, [[maybe_unused]] const T* onto, Sums& sums) const {
    const std::size_t first = row * o.columns;
    const T *const x = at(o.x) + first, *const gain = at(o.gain), *const d_y = at(o.d_y) + first;
    T* const d_x = at(o.d_x) + first;
    const S mean = Centered ? at(o.mean)[row] : S(0), rstd = at(o.rstd)[row], scale = S(1) / static_cast<S>(o.columns);
    auto part = part_of_row<n, held>(
        team, o.columns, [&](std::size_t i) { return Run<n>{detail::read<n>(x + i), detail::read<n>(d_y + i)}; });
    S sum_e = S(0), sum_en = S(0);
    part.for_each([&](std::size_t i, const Run<n>& run) {
      const auto factor = detail::read<n>(gain + i);
      for (unsigned k = 0; k < n; ++k) {
        const S e = static_cast<S>(run.d_y.at[k]) * static_cast<S>(factor.at[k]);
        sum_e += e;
        sum_en += e * ((static_cast<S>(run.x.at[k]) - mean) * rstd);
      }
    });
    const S mean_e = Centered ? team.template combined<Sum>(sum_e) * scale : S(0),
            mean_en = team.template combined<Sum>(sum_en) * scale;
    part.for_each_numbered([&]<unsigned r>(std::size_t i, const Run<n>& run) {
      const auto factor = detail::read<n>(gain + i);
      Pack<T, n> result;
      [[maybe_unused]] Pack<T, n> sum;
      if constexpr (adds) sum = detail::read<n>(onto + first + i);
      for (unsigned k = 0; k < n; ++k) {
        const S d = static_cast<S>(run.d_y.at[k]), e = d * static_cast<S>(factor.at[k]),
                normal = (static_cast<S>(run.x.at[k]) - mean) * rstd;
        S d_x_of_k = (e - mean_e - normal * mean_en) * rstd;
        if constexpr (adds) d_x_of_k += static_cast<S>(sum.at[k]);
        result.at[k] = static_cast<T>(d_x_of_k);
        sums.template add<r>(0, i, k, d * normal);
        if constexpr (Centered) sums.template add<r>(1, i, k, d);
      }
      detail::write(result, d_x + i);
    });
  }
};

/// The chunks' sums, joined.
template <bool Centered, class T, class G>
REGIMEN_HD constexpr auto sums_left(const op::NormalizeBackward<Centered, T, G>& o, Launch<1>) {
  const detail::NormalChunks chunks = detail::chunks_of(o);
  return LeftSums<statistic_t<T>, G>{.chunks = chunks.count(),
                                     .columns = o.d_gain.is_absent() ? 0 : chunks.sums(),
                                     .split = o.columns,
                                     .to = o.d_gain,
                                     .rest = o.d_bias,
                                     .add = o.add};
}

/// The launches of op::NormalizeBackward; the one that writes d_x adds, for which two blocks a multiprocessor leave too
/// few registers in 16 bits if d_bias is summed, too: it spilled on sm_80 and sm_100.
template <bool Centered, class T, class G, unsigned pass>
struct Kernel<op::NormalizeBackwardSum<Centered, T, G>, pass> final {
  using Alone = Kernel<op::NormalizeBackward<Centered, T, G>, pass>;
  static constexpr unsigned passes = kernel::passes<op::NormalizeBackward<Centered, T, G>>, threads = Alone::threads,
                            resident = pass == 0 && Centered && sizeof(T) == 2 ? 1 : kernel::resident<Alone>;
  static constexpr std::size_t shared_bytes = kernel::shared_bytes<Alone>;
  op::NormalizeBackwardSum<Centered, T, G> o;
  Memory at;

  static constexpr std::size_t scratch(const op::NormalizeBackwardSum<Centered, T, G>& operation) {
    return scratch_of(operation.backward);
  }
  constexpr unsigned blocks() const { return Alone{o.backward, at}.blocks(); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const Alone alone{o.backward, at};
    if constexpr (pass == 0) alone.template run<true>(block, at(o.onto));
    else alone(block);
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
