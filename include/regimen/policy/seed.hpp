// regimen/policy/seed.hpp — the key of all random numbers.
#pragma once

#include <regimen/policy/policy.hpp>

#include <cstdint>

namespace regimen {

/// Decides the key of every random number: initial weights, dropout, the order of the data. A number is a pure function
/// of the seed and its position (step, layer, sample, element), so a run repeats bit for bit.
///
///   choices   any 64-bit number
///   default   Seed<1>
///   effect    trainers/session.hpp (seed), core/philox.hpp (key)
template <std::uint64_t N>
struct Seed final {
  using axis = regimen::axis::seed;
  static constexpr std::uint64_t value = N;
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
