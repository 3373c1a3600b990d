// regimen/kernel/drop_factor.hpp — which probabilities of attention are dropped.
#pragma once

#include <regimen/core/philox.hpp>
#include <regimen/kernel/block.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::kernel::detail {

/// The factors of dropped probabilities: the very numbers of the CPU engine. Where nothing is dropped, `random` is not
/// read.
template <class S>
struct DropFactor {
  std::uint64_t key = 0, sample = 0, first = 0, length = 0;
  std::uint32_t threshold = 0;
  S keep = S(1);

  REGIMEN_HD DropFactor(const op::Drop& drop, const Memory& at, const op::AttentionShape& s, std::size_t head)
      : threshold(drop.threshold) {
    if (threshold == 0) return;
    const op::Random random = *at(drop.random);
    key = Philox::mix(Philox::mix(random.seed, random.step), drop.stream);
    sample = random.first_sample + head / s.heads;
    length = s.length;
    first = std::uint64_t{head % s.heads} * length * length;
    keep = static_cast<S>(65536.0 / (65536.0 - static_cast<double>(threshold)));
  }
  REGIMEN_HD S operator()(std::size_t query, std::size_t key_at) const { return factor(kept<1>(query, key_at)); }
  /// Where a pair's number is drawn, of its sample.
  REGIMEN_HD std::uint64_t element(std::size_t query, std::size_t key_at) const {
    return first + query * length + key_at;
  }
  /// Which of `count` keys are kept, the first of which is at `element`: a thread for each eight that one counter
  /// serves, wherever the eight begin. masks[e] has the bits of eight e; key j is bit element % 8 + j of them all.
  REGIMEN_HD_UNCHECKED
  template <class Block, class Masks>
  REGIMEN_HD void write_masks(const Block& block, std::uint64_t element, std::size_t count, const Masks& masks) const {
    const unsigned bits = static_cast<unsigned>(element % 8 + count);
    for (unsigned eight = block.thread(); eight * 8 < bits; eight += block.threads())
      masks[eight] = kept_of<8>(Philox::draw(key, element / 8 + eight, sample), 0);
  }
  template <class Masks>
  REGIMEN_HD S factor_in(const Masks& masks, unsigned bit) const {
    return factor(static_cast<unsigned>(masks[bit / 8]) >> bit % 8 & 1u);
  }
  /// Masks of so many keys.
  static constexpr unsigned masks_of(unsigned count) { return (count + 7) / 8 + 1; }
  /// Of n keys from key_at on, which are kept, as bits. n is 1, or 8 where all rows begin at multiples of 8 elements,
  /// as key_at does: one counter serves 8.
  template <unsigned n>
  REGIMEN_HD unsigned kept(std::size_t query, std::size_t key_at) const {
    if (threshold == 0) return (1u << n) - 1;
    const std::uint64_t at = element(query, key_at);
    return kept_of<n>(Philox::draw(key, at / 8, sample), static_cast<unsigned>(at % 8));
  }
  /// Of a key that is kept or, if 0, dropped.
  REGIMEN_HD S factor(unsigned is_kept) const { return is_kept == 0 ? S(0) : keep; }

 private:
  /// Of the eight elements of a counter all, or the one at `place`.
  template <unsigned n>
  REGIMEN_HD unsigned kept_of(const Philox::Words& words, unsigned place) const {
    unsigned bits = 0;
    for (unsigned k = 0; k < n; ++k) {
      const unsigned i = n == 8 ? k : place;
      // Not by an index that runs: words would lie in memory.
      const std::uint32_t low = i < 4 ? words.word[0] : words.word[2], high = i < 4 ? words.word[1] : words.word[3],
                          word = i % 4 < 2 ? low : high;
      bits |= (((word >> (16 * (i % 2))) & 0xFFFFu) < threshold ? 0u : 1u) << k;
    }
    return bits;
  }
};

/// The factors of the weights of keys of another text, (T,S) for each head.
template <class S>
struct CrossDropFactor final : DropFactor<S> {
  REGIMEN_HD CrossDropFactor(const op::Drop& drop, const Memory& at, const op::AttentionShape& s, std::size_t head)
      : DropFactor<S>(drop, at, s, head) {
    this->length = s.key_length;
    this->first = std::uint64_t{head % s.heads} * s.length * s.key_length;
  }
};

}  // namespace regimen::kernel::detail
// SPDX-License-Identifier: Apache-2.0
