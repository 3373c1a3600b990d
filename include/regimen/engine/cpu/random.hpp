// regimen/engine/cpu/random.hpp — the random bits of dropout, many at a time.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/philox.hpp>
#include <regimen/engine/cpu/memory.hpp>
#include <regimen/engine/cpu/simd.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen::cpu {

/// The key of layer `stream` in this step.
inline std::uint64_t random_key(const op::Random& random, std::uint64_t stream) {
  return Philox::mix(Philox::mix(random.seed, random.step), stream);
}

/// The random source of a drop; unused if nothing is dropped.
inline op::Random random_of(const op::Drop& drop, const Memory& at) {
  return drop.threshold > 0 ? *at(drop.random) : op::Random{};
}

/// Elements whose bits are drawn together: 16 counters of 8 elements each.
inline constexpr std::size_t random_block = 128;

/// The 16 random bits of elements first ... first + 127 of `sample`, as op::Random defines them; first is a multiple of
/// 8. The numbers are those of Philox::draw; its loops go over 16 counters, so that compilers use vector instructions.
inline void draw_block(std::uint64_t key, std::uint64_t first, std::uint64_t sample,
                       std::uint16_t (&bits)[random_block]) {
  constexpr std::size_t count = random_block / 8;
  std::uint32_t c0[count], c1[count], c2[count], c3[count];
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t counter = first / 8 + i;
    c0[i] = static_cast<std::uint32_t>(counter);
    c1[i] = static_cast<std::uint32_t>(counter >> 32);
    c2[i] = static_cast<std::uint32_t>(sample);
    c3[i] = static_cast<std::uint32_t>(sample >> 32);
  }
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t product0 = std::uint64_t{0xD251'1F53u} * c0[i],
                          product1 = std::uint64_t{0xCD9E'8D57u} * c2[i];
      c0[i] = static_cast<std::uint32_t>(product1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(product1);
      c2[i] = static_cast<std::uint32_t>(product0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(product0);
    }
    k0 += 0x9E37'79B9u;
    k1 += 0xBB67'AE85u;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t words[4] = {c0[i], c1[i], c2[i], c3[i]};
    for (std::size_t w = 0; w < 4; ++w) {
      bits[i * 8 + 2 * w] = static_cast<std::uint16_t>(words[w]);
      bits[i * 8 + 2 * w + 1] = static_cast<std::uint16_t>(words[w] >> 16);
    }
  }
}

/// Which of the next lanes<S> elements have bits below the threshold. Reads no more than `count` says.
template <class S, class Count = Whole>
Mask<S> below(const std::uint16_t* bits, std::uint32_t threshold, Count count = {}) {
  if constexpr (std::is_same_v<S, float>) {
    const auto drawn = detail::extend(detail::read<detail::Register<float>::Short>(bits, count));
    return {drawn < threshold};
  } else {
    Mask<S> mask{};
    for (std::size_t lane = 0; lane < lanes_used<S>(count); ++lane) mask.bits[lane] = bits[lane] < threshold ? -1 : 0;
    return mask;
  }
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
