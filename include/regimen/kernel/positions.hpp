// regimen/kernel/positions.hpp — rows and columns that are copied, averaged, scaled or dropped.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::kernel {

/// Copies columns of rows that lie from_row apart to rows to_row apart. A block takes whole rows, several of narrow
/// ones, so that a thread divides once: a thread that took any element would divide 64-bit numbers for each. By packs
/// of 16 bytes where columns and distances are whole packs and both tensors are aligned.
template <class T>
struct Kernel<op::CopyColumns<T>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<T>;
  op::CopyColumns<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows, rows_at_once(packs(), threads)); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    if (is_whole() && are_aligned(at(o.x), at(o.y))) copy<width>(block, packs());
    else copy<1>(block, o.columns);
  }

 private:
  REGIMEN_HD constexpr bool is_whole() const {
    return (o.columns | o.from_row | o.to_row | o.from_group | o.to_group) % width == 0;
  }
  REGIMEN_HD constexpr std::size_t packs() const { return is_whole() ? o.columns / width : o.columns; }
  REGIMEN_HD static constexpr unsigned rows_at_once(std::size_t pieces, unsigned of_block) {
    return pieces == 0 || pieces > of_block ? 1 : of_block / static_cast<unsigned>(pieces);
  }
  REGIMEN_HD_UNCHECKED
  template <unsigned n, class Block>
  REGIMEN_HD void copy(const Block& block, std::size_t pieces) const {
    const unsigned at_once = rows_at_once(pieces, block.threads()), of_row = block.threads() / at_once;
    const unsigned own = block.thread() / of_row, first = block.thread() % of_row;
    if (own >= at_once) return;
    for (std::size_t row = std::size_t{block.index()} * at_once + own; row < o.rows;
         row += std::size_t{block.blocks()} * at_once)
      for (std::size_t i = first; i < pieces; i += of_row)
        detail::write(detail::read<n>(at(o.x) + o.from(row) + i * n), at(o.y) + o.to(row) + i * n);
  }
};

/// y = x · gain, a factor for each column, in S; rounded once. A thread for each number.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::Scale<T>& o, Launch<0>) {
  return o.rows * o.columns;
}
template <class T>
REGIMEN_HD void compute(const op::Scale<T>& o, const Memory& at, std::size_t i, Launch<0>) {
  using S = statistic_t<T>;
  at(o.y)[i] = static_cast<T>(static_cast<S>(at(o.x)[i]) * static_cast<S>(at(o.gain)[i % o.columns]));
}

/// y = x / (1 − p) for a sample that is kept, else 0; p = threshold / 2^16. A number is drawn for a whole sample, from
/// the first counter of its place in the batch. A thread takes eight elements of one sample at a time, and draws for
/// each eight.
template <class T>
struct Kernel<op::DropSamples<T>> final {
  static constexpr unsigned threads = detail::flat_threads, width = 8;
  using S = statistic_t<T>;
  op::DropSamples<T> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.samples * pieces(), threads); }
  REGIMEN_HD constexpr std::size_t pieces() const { return (o.elements + width - 1) / width; }  // of a sample

  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const bool drops = o.drop.threshold > 0;
    const op::Random random = drops ? *at(o.drop.random) : op::Random{};
    const std::uint64_t key = Philox::mix(Philox::mix(random.seed, random.step), o.drop.stream);
    const S factor = static_cast<S>(65536.0 / (65536.0 - static_cast<double>(o.drop.threshold)));
    const std::size_t of_sample = pieces();
    for_pieces(block, o.samples * of_sample, [&](std::size_t piece) {
      const std::size_t sample = piece / of_sample, first = piece % of_sample * width;
      const bool dropped =
          drops && (Philox::draw(key, 0, random.first_sample + sample).word[0] & 0xFFFFu) < o.drop.threshold;
      for (std::size_t e = first; e < first + width && e < o.elements; ++e) {
        const std::size_t i = sample * o.elements + e;
        at(o.y)[i] = dropped ? T(0.0f) : static_cast<T>(static_cast<S>(at(o.x)[i]) * factor);
      }
    });
  }
};

/// y = Σ of a sample's rows / rows, of each column. A thread takes a column of a sample, from the first row to the
/// last: neighbours read neighbours.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::MeanRows<T>& o, Launch<0>) {
  return o.samples * o.columns;
}
template <class T>
REGIMEN_HD void compute(const op::MeanRows<T>& o, const Memory& at, std::size_t i, Launch<0>) {
  using S = statistic_t<T>;
  const T* const x = at(o.x) + i / o.columns * o.rows * o.columns + i % o.columns;
  S sum = 0;
  for (std::size_t row = 0; row < o.rows; ++row) sum += static_cast<S>(x[row * o.columns]);
  at(o.y)[i] = static_cast<T>(sum / static_cast<S>(o.rows));
}
/// d_x = d_y / rows in every row of a sample. A thread for each number of d_x: neighbours read neighbours of d_y.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::MeanRowsBackward<T>& o, Launch<0>) {
  return o.samples * o.rows * o.columns;
}
template <class T>
REGIMEN_HD void compute(const op::MeanRowsBackward<T>& o, const Memory& at, std::size_t i, Launch<0>) {
  using S = statistic_t<T>;
  const std::size_t sample = i / (o.rows * o.columns);
  at(o.d_x)[i] = static_cast<T>(static_cast<S>(at(o.d_y)[sample * o.columns + i % o.columns]) / static_cast<S>(o.rows));
}

namespace detail {

/// The row with the largest element of a column: the first of several, the first NaN.
template <class S, class T>
REGIMEN_HD std::size_t largest_row(const T* x, std::size_t rows, std::size_t columns) {
  S largest = static_cast<S>(x[0]);
  std::size_t place = 0;
  for (std::size_t row = 1; row < rows; ++row) {
    const S value = static_cast<S>(x[row * columns]);
    if (value > largest || (value != value && largest == largest)) largest = value, place = row;
  }
  return place;
}

}  // namespace detail

/// y = the largest number of a column of a sample, which a thread looks through from the first row on. Exact.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::MaxRows<T>& o, Launch<0>) {
  return o.samples * o.columns;
}
template <class T>
REGIMEN_HD void compute(const op::MaxRows<T>& o, const Memory& at, std::size_t i, Launch<0>) {
  const T* const x = at(o.x) + i / o.columns * o.rows * o.columns + i % o.columns;
  at(o.y)[i] = x[detail::largest_row<statistic_t<T>>(x, o.rows, o.columns) * o.columns];
}
/// d_x = d_y in the row that MaxRows took, which is found again from x; 0 in the others. A thread takes a column of a
/// sample and writes all of its rows, so nothing has to be zero before.
template <class T>
REGIMEN_HD constexpr std::size_t pieces(const op::MaxRowsBackward<T>& o, Launch<0>) {
  return o.samples * o.columns;
}
template <class T>
REGIMEN_HD void compute(const op::MaxRowsBackward<T>& o, const Memory& at, std::size_t i, Launch<0>) {
  const std::size_t first = i / o.columns * o.rows * o.columns + i % o.columns;
  const std::size_t chosen = detail::largest_row<statistic_t<T>>(at(o.x) + first, o.rows, o.columns);
  for (std::size_t row = 0; row < o.rows; ++row)
    at(o.d_x)[first + row * o.columns] = row == chosen ? at(o.d_y)[i] : T(0.0f);
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
