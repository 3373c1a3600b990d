// regimen/train/replicas.hpp — weights that several ranks keep are the same bits on each: found out by a hash.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/engine/cpu/parallel.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace regimen::train {

/// Of all bytes and their order. One changed bit always gives another hash, wherever it is; whatever else changes, with a
/// probability of 1 − 2⁻⁶⁴ or so.
///
/// cost  reads each byte once, on all cores; allocates nothing
inline std::uint64_t hash_of_bytes(std::span<const std::byte> bytes) {
  constexpr std::size_t chunk = std::size_t{1} << 18, lanes = 16, block = lanes * sizeof(std::uint64_t);
  // Each line is a bijection of `state` for a given word, and of the word for a given state. The rotation keeps two changed
  // sign bits from cancelling: without it the highest bit of a product stays where it is.
  const auto next = [](std::uint64_t state, std::uint64_t word) { return std::rotl((state ^ word) * 0x9E3779B97F4A7C15u, 29); };
  const auto hash_of_chunk = [&](const std::byte* at, std::size_t count) {
    std::uint64_t state[lanes], words[lanes], all = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) state[lane] = lane;
    for (; count >= block; at += block, count -= block) {
      std::memcpy(words, at, block);
      for (std::size_t lane = 0; lane < lanes; ++lane) state[lane] = next(state[lane], words[lane]);
    }
    for (; count > 0; ++at, --count) state[0] = next(state[0], static_cast<std::uint64_t>(*at));
    for (const std::uint64_t lane : state) all = next(all, lane);
    return all;
  };
  std::atomic<std::uint64_t> sum = bytes.size();
  cpu::parallel_for((bytes.size() + chunk - 1) / chunk, [&](std::size_t i) {
    const std::size_t begin = i * chunk;
    sum.fetch_add(next(i, hash_of_chunk(bytes.data() + begin, (std::min)(chunk, bytes.size() - begin))), std::memory_order_relaxed);
  });
  return sum;
}

/// hashes[r] is rank r's, of the slice slice_of(r); the first rank of a slice has its number.
///
/// failure  Error that names the ranks that differ from most ranks of their slice, or, of equally many, from the first
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
  throw Error("Trainer, after step " + std::to_string(step), "the same weights on all ranks that keep them", "others on rank " + others,
              "they began alike: look for a processor, a library or a memory that differs, and for what writes to parameters on one rank; then go "
              "on from a state saved before");
}

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
