// tests/core/philox.cpp — the published known answers of Philox4x32-10, and the words it hands out.
#include <catch2/catch.hpp>

#include <regimen/core/philox.hpp>

#include <cstdint>
#include <set>

using namespace regimen;

namespace {

constexpr bool is(Philox::Words words, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return words.word[0] == a && words.word[1] == b && words.word[2] == c && words.word[3] == d;
}

}  // namespace

// Random123, kat_vectors, philox4x32 10 rounds: no bit, all bits, and the digits of π.
static_assert(is(Philox::draw(0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
static_assert(is(Philox::draw(~0ull, ~0ull, ~0ull), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
static_assert(is(Philox::draw(0x299f31d0'a4093822, 0x85a308d3'243f6a88, 0x03707344'13198a2e), 0xd16cfe09, 0x94fdcceb,
                 0x5001e420, 0x24126ea1));

TEST_CASE("Philox at run time draws what it draws in constant expressions") {
  volatile std::uint64_t zero = 0;
  CHECK(is(Philox::draw(zero, zero, zero), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
}

TEST_CASE("every part of counter and key matters") {
  std::set<std::uint32_t> seen{Philox::draw(0, 0, 0).word[0]};
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t one = std::uint64_t{1} << bit;
    seen.insert(Philox::draw(one, 0, 0).word[0]);
    seen.insert(Philox::draw(0, one, 0).word[0]);
    seen.insert(Philox::draw(0, 0, one).word[0]);
  }
  CHECK(seen.size() == 1 + 3 * 64);
}

TEST_CASE("its bits are balanced") {
  // 4096 draws of 128 bits: the count of ones has a standard deviation of √(2^19)/2 = 362.
  long ones = 0;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    for (const std::uint32_t word : Philox::draw(42, i, 7).word) {
      for (std::uint32_t rest = word; rest != 0; rest &= rest - 1) ++ones;
    }
  }
  CHECK(ones > (1 << 18) - 5 * 362);
  CHECK(ones < (1 << 18) + 5 * 362);
}

TEST_CASE("keys of different seeds, steps and layers differ") {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (std::uint64_t step = 0; step < 8; ++step) {
      for (std::uint64_t layer = 0; layer < 8; ++layer) keys.insert(Philox::mix(Philox::mix(seed, step), layer));
    }
  }
  CHECK(keys.size() == 512);
}
// SPDX-License-Identifier: Apache-2.0
