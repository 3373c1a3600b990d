// regimen/train/replicas.hpp — compares by hashes the weights that several ranks keep.
#pragma once

#include <regimen/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace regimen::train {

/// hashes[r] is rank r's hash of slice slice_of(r), which has the number of its first rank.
///
/// failure  Error that names the ranks that differ from the majority of their slice; on a tie, from the first rank
template <class SliceOf>
void compare_hashes(std::span<const std::uint64_t> hashes, const SliceOf& slice_of, std::uint64_t step) {
  bool are_equal = true;
  for (std::size_t r = 0; r < hashes.size(); ++r) are_equal = are_equal && hashes[r] == hashes[slice_of(r)];
  if (are_equal) return;
  const auto votes = [&](std::size_t r) {
    std::size_t count = 0;
    for (std::size_t q = 0; q < hashes.size(); ++q) count += slice_of(q) == slice_of(r) && hashes[q] == hashes[r];
    return count;
  };
  std::string others;
  for (std::size_t r = 0; r < hashes.size(); ++r) {
    std::size_t best = slice_of(r);
    for (std::size_t q = best; q < hashes.size(); ++q)
      if (slice_of(q) == slice_of(r) && votes(q) > votes(best)) best = q;
    if (hashes[r] != hashes[best]) others += (others.empty() ? "" : ", ") + std::to_string(r);
  }
  throw Error(
      "Trainer, after step " + std::to_string(step), "the same weights on all ranks that keep them",
      "others on rank " + others,
      "they were equal before: look for another processor or library, for faulty memory, and for code that writes to parameters on "
      "one rank; then resume from an earlier saved state");
}

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
