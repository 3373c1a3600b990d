// regimen/kernel/add_wider.hpp — numbers of one type added to those of a wider one.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>

namespace regimen::kernel {

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

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
