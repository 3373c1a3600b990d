// tests/support/tiny.hpp — a GPT small enough to train in a test, and data for it.
#pragma once

#include <regimen/engine/cpu/device.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/trainers/trainer.hpp>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace tiny {

using namespace regimen;

using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>,
                         Residual<LayerNorm, Linear<32>, GeluTanh, Linear<8>>>;
using Table = Embedding<Vocabulary<11>, 8>;
struct Gpt : Model<Input<Tokens<6>>, Table, PositionEmbedding, Repeat<3, Block>, LayerNorm, TiedLinear<Table>> {};

inline constexpr std::size_t length = 6, vocabulary = 11;

/// Tokens of `samples` samples; a function of `key` alone.
inline std::vector<std::int32_t> tokens(std::size_t samples, std::uint64_t key) {
  std::vector<std::int32_t> values(samples * length);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int32_t>(Philox::mix(key, i) % vocabulary);
  return values;
}

/// Are these the same bits?
template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// All weights, one behind the other.
template <class Owner>
auto weights(Owner& owner) {
  std::vector<typename Owner::Master> all;
  for (const auto& parameter : owner.parameters())
    all.insert(all.end(), parameter.values.begin(), parameter.values.end());
  return all;
}

}  // namespace tiny
// SPDX-License-Identifier: Apache-2.0
