// regimen/kernel/library.hpp — operations beside a library's calls: rows padded for tensor cores, sums in a wider type,
// the seed of its random numbers.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::kernel {

/// y = x in another element type, its rows `leading` elements apart; what lies between them is not written
///   x (rows,columns), `from_leading` elements from row to row, or 0: columns; y (rows,leading), leading >= columns
template <class From, class To>
struct PadRows final {
  static constexpr const char* name = "pad_rows";
  View<From> x;
  View<To> y;
  std::size_t rows = 0, columns = 0, leading = 0, from_leading = 0;

  REGIMEN_HD constexpr std::size_t from_row() const { return from_leading > 0 ? from_leading : columns; }
};

namespace detail {

/// Elements of `from`, which begins `behind` elements behind a multiple of 16 bytes, by reads of whole 16 bytes: also
/// of elements before and behind them.
template <unsigned width, unsigned behind, class T>
REGIMEN_HD Pack<T, width> read_behind(const T* from) {
  constexpr unsigned whole = (behind + width + pack_of<T> - 1) / pack_of<T> * pack_of<T>;
  const auto all = read<whole>(from - behind);
  Pack<T, width> result;
  for (unsigned k = 0; k < width; ++k) result.at[k] = all.at[behind + k];
  return result;
}

}  // namespace detail

/// A block takes whole rows, so that no thread divides. Rows of x begin anywhere.
template <class From, class To>
struct Kernel<PadRows<From, To>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<From, To>, of_line = pack_of<From>;
  PadRows<From, To> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows, 1); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    const bool aligned = o.leading * sizeof(To) % 16 == 0 && are_aligned(at(o.x), at(o.y));
    for (std::size_t row = block.index(); row < o.rows; row += block.blocks()) {
      const From* const x = at(o.x) + row * o.from_row();
      To* const y = at(o.y) + row * o.leading;
      // Packs read up to of_line - 1 elements behind their own: of the next row, which the last one lacks.
      const std::size_t beyond = row + 1 < o.rows ? 0 : of_line - 1;
      const std::size_t packed = aligned && o.columns > beyond ? (o.columns - beyond) / width : 0;
      write_packs(block, x, y, packed, static_cast<unsigned>(row * o.from_row() % of_line));
      for (std::size_t i = packed * width + block.thread(); i < o.columns; i += block.threads())
        y[i] = converted<To>(x[i]);
    }
  }

 private:
  /// `behind` is a row's, so a block's threads take one way. As a parameter of the template it is known to the
  /// compiler, which so keeps packs in registers.
  REGIMEN_HD_UNCHECKED
  template <unsigned tried = 0, class Block>
  REGIMEN_HD static void write_packs(const Block& block, const From* x, To* y, std::size_t packed, unsigned behind) {
    if constexpr (tried + 1 < of_line)
      if (behind != tried) return write_packs<tried + 1>(block, x, y, packed, behind);
    for (std::size_t i = block.thread(); i < packed; i += block.threads()) {
      const auto from = detail::read_behind<width, tried>(x + i * width);
      Pack<To, width> to;
      for (unsigned k = 0; k < width; ++k) to.at[k] = converted<To>(from.at[k]);
      detail::write(to, y + i * width);
    }
  }
};

/// y += x, of `count` elements
template <class From, class To>
struct AddWider final {
  static constexpr const char* name = "add_wider";
  View<From> x;
  View<To> y;
  std::size_t count = 0;
};

template <class From, class To>
struct Kernel<AddWider<From, To>> final {
  static constexpr unsigned threads = detail::flat_threads, width = pack_of<From, To>;
  AddWider<From, To> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.count / width + 1, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    detail::add_elements<width>(block, o.count, at(o.x), at(o.y));
  }
};

/// to[0], to[1] = seed and offset of a library's own random numbers, for one call: a hash of the seed, the step, the
/// layer and the first sample; 0. So a recomputed layer and its backward draw the same numbers, and a recorded graph
/// others in each step.
struct LibraryRandom final {
  op::Drop drop;
  View<std::int64_t> to;
};

REGIMEN_HD inline void decide(const LibraryRandom& o, const Memory& at) {
  const op::Random random = *at(o.drop.random);
  const std::uint64_t hash =
      Philox::mix(Philox::mix(Philox::mix(random.seed, random.step), o.drop.stream), random.first_sample);
  at(o.to)[0] = static_cast<std::int64_t>(hash >> 1);  // not negative
  at(o.to)[1] = 0;
}

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
