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
    const From* const x = at(o.x);
    To* const y = at(o.y);
    detail::for_elements<width>(block, o.count, are_aligned(x, y), [&]<unsigned n>(std::size_t i) {
      const auto a = detail::read<n>(x + i);
      auto b = detail::read<n>(y + i);
      for (unsigned k = 0; k < n; ++k) b.at[k] = b.at[k] + converted<To>(a.at[k]);
      detail::write(b, y + i);
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
