// regimen/engine/hash.hpp — a hash of bytes, the same on every engine.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace regimen::engines {

/// A hash of all bytes and their order. A change of a single bit always changes the hash; other changes do so with a
/// probability of about 1 − 2⁻⁶⁴.
///
///   loop   loop(n, body) calls body(0) … body(n - 1), in any order, also at the same time
///
/// cost     reads each byte once; allocates nothing
template <class Loop>
std::uint64_t hash_of_bytes(std::span<const std::byte> bytes, const Loop& loop) {
  constexpr std::size_t chunk = std::size_t{1} << 18, lanes = 16, block = lanes * sizeof(std::uint64_t);
  // Each line is a bijection of `state` for a given word, and of the word for a given state. The rotation keeps two
  // changed sign bits from cancelling: without it the highest bit of a product stays where it is.
  const auto next = [](std::uint64_t state, std::uint64_t word) {
    return std::rotl((state ^ word) * 0x9E3779B97F4A7C15u, 29);
  };
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
  loop((bytes.size() + chunk - 1) / chunk, [&](std::size_t i) {
    const std::size_t begin = i * chunk;
    sum.fetch_add(next(i, hash_of_chunk(bytes.data() + begin, (std::min)(chunk, bytes.size() - begin))),
                  std::memory_order_relaxed);
  });
  return sum;
}

}  // namespace regimen::engines
// SPDX-License-Identifier: Apache-2.0
