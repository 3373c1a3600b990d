// regimen/comm/tree.hpp — the sum over ranks: the same tree for all communicators.
#pragma once

#include <regimen/core/number.hpp>
#include <regimen/core/tree.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace regimen::comm {

namespace detail {

/// Elements that are added at a time: the partial sums of one level fit into the first-level cache.
inline constexpr std::size_t tree_block = 512;

/// out[i] = Σ over ranks [first, last) of summand(r)[at + i], i < count <= tree_block.
template <class T, class Summand>
void tree_of_block(const Summand& summand, std::size_t first, std::size_t last, std::size_t at, std::size_t count,
                   statistic_t<T>* out) {
  using Sum = statistic_t<T>;
  if (last - first == 1) {
    const T* const only = summand(first) + at;
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Sum>(only[i]);
  } else if (last - first == 2) {
    const T *const left = summand(first) + at, *const right = summand(first + 1) + at;
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Sum>(left[i]) + static_cast<Sum>(right[i]);
  } else {
    const std::size_t middle = first + std::bit_floor(last - first - 1);
    Sum right[tree_block];
    tree_of_block<T>(summand, first, middle, at, count, out);
    tree_of_block<T>(summand, middle, last, at, count, right);
    for (std::size_t i = 0; i < count; ++i) out[i] += right[i];
  }
}

}  // namespace detail

/// out[i] = Σ_r summand(r)[i], r < ranks, i < count.
///
/// The tree over ranks [a, b) is the tree over [a, m) plus the tree over [m, b), where m − a is the largest power of
/// two below b − a. So whatever the number of ranks, every aligned group of 2^k ranks is a subtree: the sums of
/// Hybrid<2^k>, inside groups and then over groups, are the same additions and have the same bits. (Not so for groups
/// of another size, or for 16-bit sums, which are rounded between the two.)
///
///   summand   gives the const T* of a rank
///   out       may be one of the summands, at the same place; every element is read before it is written
///
/// error  ⌈log2 ranks⌉ roundings to fp32 (fp64 for fp64); then one to T, for bf16 and fp16
/// cost   reads each summand once; at most ⌈log2 ranks⌉ blocks of 4 KiB on the stack
template <Number T, class Summand>
void tree_sum(const Summand& summand, std::size_t ranks, T* out, std::size_t count) {
  using Sum = statistic_t<T>;
  Sum sums[detail::tree_block];
  for (std::size_t at = 0; at < count; at += detail::tree_block) {
    const std::size_t block = (std::min)(detail::tree_block, count - at);
    detail::tree_of_block<T>(summand, 0, ranks, at, block, sums);
    if constexpr (std::is_same_v<T, Sum>) {
      std::memcpy(out + at, sums, block * sizeof(T));
    } else {
      for (std::size_t i = 0; i < block; ++i) out[at + i] = T(sums[i]);
    }
  }
}

/// The sum, by this tree, of `ranks` values `stride` elements apart.
template <Number T>
constexpr statistic_t<T> tree_of_values(const T* values, std::size_t ranks, std::size_t stride = 1) {
  return tree_of(std::size_t{0}, ranks,
                 [&](std::size_t rank) { return static_cast<statistic_t<T>>(values[rank * stride]); });
}

}  // namespace regimen::comm
// SPDX-License-Identifier: Apache-2.0
