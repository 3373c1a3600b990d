// regimen/core/tree.hpp — sums as a balanced binary tree, on the host and on a device.
#pragma once

#include <regimen/core/hd.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen {

/// Adds a sequence of values in the order of a balanced binary tree: [0, n) is split at
/// the largest power of two below n.
/// Stores one partial sum for each size of a complete subtree.
template <class Sum>
class TreeSum final {
 public:
  REGIMEN_HD constexpr void add(Sum value) {
    std::size_t level = 0;
    for (; (count_ >> level & 1) != 0; ++level) value = partial_[level] + value;
    partial_[level] = value;
    ++count_;
  }
  REGIMEN_HD constexpr Sum total() const {
    Sum sum = 0;
    bool first = true;
    for (std::size_t level = 0; level < 64; ++level) {
      if ((count_ >> level & 1) == 0) continue;
      sum = first ? partial_[level] : partial_[level] + sum;
      first = false;
    }
    return sum;
  }

 private:
  Sum partial_[64];
  std::uint64_t count_ = 0;
};

/// The tree over value(first) ... value(last - 1): for the few scalars of a step.
REGIMEN_HD_UNCHECKED
template <class Value>
REGIMEN_HD constexpr auto tree_of(std::size_t first, std::size_t last, const Value& value) {
  TreeSum<decltype(value(first))> sum;
  for (std::size_t i = first; i < last; ++i) sum.add(value(i));
  return sum.total();
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
