// regimen/kernel/pad_rows.hpp — a matrix in another element type, with longer rows: for products by tensor cores.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>

#include <cstddef>

namespace regimen::kernel {

/// y = x in another element type, its rows `leading` elements apart; what lies between them is not written
///   x (rows,columns); y (rows,leading), leading >= columns
template <class From, class To>
struct PadRows final {
  View<From> x;
  View<To> y;
  std::size_t rows = 0, columns = 0, leading = 0;
};

/// A block takes whole rows, so that no thread divides.
template <class From, class To>
struct Kernel<PadRows<From, To>> final {
  static constexpr unsigned threads = 256;
  PadRows<From, To> o;
  Memory at;

  constexpr unsigned blocks() const { return blocks_for(o.rows, 1); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    for (std::size_t row = block.index(); row < o.rows; row += block.blocks()) {
      const From* const x = at(o.x) + row * o.columns;
      To* const y = at(o.y) + row * o.leading;
      for (std::size_t i = block.thread(); i < o.columns; i += block.threads()) y[i] = converted<To>(x[i]);
    }
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
