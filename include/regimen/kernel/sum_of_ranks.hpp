// regimen/kernel/sum_of_ranks.hpp — the sum over ranks whose memory is on one device.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/tree.hpp>
#include <regimen/kernel/block.hpp>
#include <regimen/kernel/elementwise.hpp>

#include <cstddef>

namespace regimen::kernel {

/// So many ranks at most: their addresses are the launch's arguments.
inline constexpr std::size_t most_ranks_of_device = 32;

/// out[i] = Σ of[r][i], r < ranks, i < count, in the tree of comm/tree.hpp, so that the bits are those of ranks on the
/// host. `out` may be one of the summands.
///
/// error  ⌈log2 ranks⌉ roundings to fp32 (fp64 for fp64); then one to T, for bf16 and fp16
template <class T>
struct SumOfRanks final {
  static constexpr const char* name = "sum_of_ranks";
  static constexpr unsigned threads = detail::flat_threads;
  const T* of[most_ranks_of_device]{};
  T* out = nullptr;
  std::size_t ranks = 0, count = 0;

  constexpr unsigned blocks() const { return blocks_for(count, threads); }
  REGIMEN_HD_UNCHECKED
  template <class Block>
  REGIMEN_HD void operator()(const Block& block) const {
    for_pieces(block, count, [&](std::size_t i) {
      out[i] = static_cast<T>(
          tree_of(std::size_t{0}, ranks, [&](std::size_t r) { return static_cast<statistic_t<T>>(of[r][i]); }));
    });
  }
};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
