// regimen/core/operation/padding.hpp — texts that end before their tensor does: the operations.
#pragma once

#include <regimen/core/hd.hpp>
#include <regimen/core/operation/attention.hpp>
#include <regimen/core/operation/attention_bias.hpp>
#include <regimen/core/view.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::op {

/// lengths[b] = 1 + the last position of sample b whose token is not `padding`; 1 if there is none
///   tokens (B,T)   lengths (B)
struct CountTokens final {
  static constexpr const char* name = "count_tokens";
  View<std::int32_t> tokens, lengths;
  std::size_t samples = 0, length = 0;
  std::int32_t padding = 0;

  constexpr Cost cost() const {
    const double elements = double(samples * length);
    return {elements, (elements + double(samples)) * sizeof(std::int32_t), 1};
  }
};

/// Operation, of attention that is not causal, where the queries of sample b see its first lengths[b] keys. The
/// gradients of other keys and values are 0. Operations of their own, as WindowAttention.
///   lengths (B), each from 1 to the number of keys
template <class Operation>
struct WithinLengths final {
  static constexpr const char* name = Operation::name;
  Operation whole;
  View<std::int32_t> lengths;

  constexpr Cost cost() const { return whole.cost(); }
};

/// The keys that the queries of a sample see: a length that was counted over more positions than there are keys ends
/// with them, and reads nothing behind.
REGIMEN_HD constexpr std::size_t seen_keys(std::int32_t length, std::size_t keys) {
  return static_cast<std::size_t>(length) < keys ? static_cast<std::size_t>(length) : keys;
}

/// Whether an operation reads keys, all of them.
template <class Operation>
inline constexpr bool reads_all_keys = false;
template <class T>
inline constexpr bool reads_all_keys<Attention<T>> = true;
template <class T>
inline constexpr bool reads_all_keys<AttentionBackward<T>> = true;
template <class T>
inline constexpr bool reads_all_keys<SharedAttentionBackward<T>> = true;
template <class T>
inline constexpr bool reads_all_keys<BiasedAttention<T>> = true;
template <class T>
inline constexpr bool reads_all_keys<BiasedAttentionBackward<T>> = true;
template <class T>
inline constexpr bool reads_all_keys<CrossAttention<T>> = true;
template <class T>
inline constexpr bool reads_all_keys<CrossAttentionBackward<T>> = true;

}  // namespace regimen::op
// SPDX-License-Identifier: Apache-2.0
