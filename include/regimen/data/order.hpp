// regimen/data/order.hpp — the order of samples, as a pure function.
#pragma once

#include <regimen/core/philox.hpp>

#include <bit>
#include <cstdint>

namespace regimen {

/// Shuffled     every sample once an epoch, in another order each epoch
/// Random       draws from all samples, with replacement, like nanoGPT's windows
/// Sequential   0, 1, 2, ... in every epoch
/// Runs         every sample once an epoch; a batch of all ranks is a run of neighbouring samples, and the runs come in
///              another order each epoch. For sorted sources, such as Documents by length. The last, shorter run is
///              shuffled with the others. The runs depend on the batch of all ranks: another number of ranks, or
///              SimulateWorld, changes them. If an epoch resumes with another batch, it keeps its runs; a batch may
///              then hold neighbours of two runs
enum class Order { Shuffled, Random, Sequential, Runs };

namespace detail {

/// floor(a · b / 2^64)
constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a0 = a & 0xFFFF'FFFFu, a1 = a >> 32, b0 = b & 0xFFFF'FFFFu, b1 = b >> 32;
  const std::uint64_t middle = a1 * b0 + ((a0 * b0) >> 32), other = a0 * b1 + (middle & 0xFFFF'FFFFu);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

/// A permutation of [0, size), size ≤ 2^63: a Feistel network over the next larger power of four, applied repeatedly
/// until the value is in range (cycle walking).
constexpr std::uint64_t permute(std::uint64_t key, std::uint64_t index, std::uint64_t size) {
  constexpr int rounds = 8, least = 3;  // at least 64 states: a Feistel network over fewer reaches few permutations
  const int width = (static_cast<int>(std::bit_width(size - 1)) + 1) / 2, half = width < least ? least : width;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = index >> half, right = index & mask;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t next = left ^ (Philox::mix(key ^ right, round) & mask);
      left = right;
      right = next;
    }
    index = left << half | right;
  } while (index >= size);
  return index;
}

}  // namespace detail

/// The sample at place `index` of `epoch`. A pure function: a resumed run, any number of loader threads and all ranks
/// get the same sample (for Runs, with the same `run`).
///
///   index   in [0, size) for Shuffled and Runs, which are permutations of [0, size); any for Random;
///           taken modulo size for Sequential
///   size    in [1, 2^63]
///   run     samples of a batch of all ranks; at least 1; only used by Runs
///
/// error    Random prefers some samples by at most size / 2^64
/// source   Luby, Rackoff 1988 (Feistel networks as permutations); Black, Rogaway 2002, section 4 (cycle walking)
/// cost     for size > 64 on average fewer than four applications of 8 rounds, with two multiplications each
constexpr std::uint64_t index_in_order(Order order, std::uint64_t seed, std::uint64_t epoch, std::uint64_t index,
                                       std::uint64_t size, std::uint64_t run = 1) {
  if (order == Order::Sequential) return index % size;
  if (order == Order::Shuffled) return detail::permute(Philox::mix(Philox::mix(seed, 0x5A), epoch), index, size);
  if (order == Order::Runs) {
    const std::uint64_t key = Philox::mix(Philox::mix(seed, 0x5B), epoch), full = size / run, rest = size % run,
                        short_run = Philox::mix(key, 1) % (full + 1);
    if (index >= full * run) return short_run * run + index % run;
    const std::uint64_t at = detail::permute(key, index / run, full);
    return at * run + (at >= short_run ? rest : 0) + index % run;
  }
  const Philox::Words words = Philox::draw(Philox::mix(seed, 0xD2), index, epoch);
  return detail::multiply_high(std::uint64_t{words.word[0]} << 32 | words.word[1], size);
}

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
