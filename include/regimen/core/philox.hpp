// regimen/core/philox.hpp — random numbers as a pure function of their position.
#pragma once

#include <regimen/core/hd.hpp>

#include <cstdint>

namespace regimen {

/// Four random 32-bit words from a 128-bit counter and a 64-bit key. There is no state between calls: a layer that is
/// recomputed, or computed on another rank or thread, draws the same numbers.
///
/// source   Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", Philox4x32-10
/// cost     20 multiplications of 32 by 32 bits
struct Philox {
  struct Words {
    std::uint32_t word[4];
  };

  REGIMEN_HD static constexpr Words draw(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high) {
    std::uint32_t c0 = static_cast<std::uint32_t>(counter_low), c1 = static_cast<std::uint32_t>(counter_low >> 32);
    std::uint32_t c2 = static_cast<std::uint32_t>(counter_high), c3 = static_cast<std::uint32_t>(counter_high >> 32);
    std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t product0 = std::uint64_t{0xD251'1F53u} * c0, product1 = std::uint64_t{0xCD9E'8D57u} * c2;
      const std::uint32_t high0 = static_cast<std::uint32_t>(product0 >> 32),
                          high1 = static_cast<std::uint32_t>(product1 >> 32);
      c0 = high1 ^ c1 ^ k0;
      c1 = static_cast<std::uint32_t>(product1);
      c2 = high0 ^ c3 ^ k1;
      c3 = static_cast<std::uint32_t>(product0);
      k0 += 0x9E37'79B9u;
      k1 += 0xBB67'AE85u;
    }
    return {{c0, c1, c2, c3}};
  }

  /// Mixes two 64-bit values into one; used to derive keys (seed, step, layer) and nowhere else.
  /// source   Steele, Lea, Flood 2014, SplitMix64 finaliser
  REGIMEN_HD static constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b = 0) {
    std::uint64_t z = a + 0x9E37'79B9'7F4A'7C15u * (b + 1);
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9u;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EBu;
    return z ^ (z >> 31);
  }
};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
