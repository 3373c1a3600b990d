// regimen/train/agreement.hpp — ranks that would not train the same thing end at once, and say which differ.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/engine/cpu/peers.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace regimen::train {

/// A small value of every rank.
template <class T>
std::vector<T> gather_small(cpu::Peers& peers, const T& own) {
  std::vector<T> all(peers.size());
  peers.gather_small(reinterpret_cast<const std::byte*>(&own), reinterpret_cast<std::byte*>(all.data()), sizeof(T));
  return all;
}

/// All ranks end here, or none, and not in a collective that never comes to an end.   peers   null: one rank, which agrees
inline void agree(cpu::Peers* peers, const char* where, const char* what, std::uint64_t own) {
  if (peers == nullptr || peers->size() == 1) return;
  const std::vector<std::uint64_t> all = gather_small(*peers, own);
  std::string others;
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0]) others += (others.empty() ? "" : ", ") + std::to_string(r);
  if (!others.empty())
    throw Error(where, std::string("the same ") + what + " on all " + std::to_string(all.size()) + " ranks", "others than rank 0's on rank " + others,
                "start all ranks from one program with the same arguments, files and data");
}

/// Whether it is true on every rank.   peers   null: one rank, whose word it is
inline bool on_all(cpu::Peers* peers, bool own) {
  if (peers == nullptr || peers->size() == 1) return own;
  const std::vector<std::uint8_t> all = gather_small(*peers, static_cast<std::uint8_t>(own));
  return std::find(all.begin(), all.end(), 0) == all.end();
}

/// The model, the policies, and the options that decide what is computed.
template <class Trainer>
std::uint64_t fingerprint_of(const typename Trainer::Options& options, std::uint64_t seed) {
  std::uint64_t print = mix(seed, Trainer::batch * Trainer::micro_batches);
  for (const char* c = __PRETTY_FUNCTION__; *c != 0; ++c) print = mix(print, static_cast<std::uint64_t>(*c));
  print = mix(print, std::bit_cast<std::uint64_t>(options.optimizer.learning_rate));
  for (const std::uint64_t step : {0u, 1u, 10u, 100u, 1000u, 100000u}) print = mix(print, std::bit_cast<std::uint64_t>(options.schedule.share(step)));
  return print;
}

}  // namespace regimen::train
// SPDX-License-Identifier: Apache-2.0
