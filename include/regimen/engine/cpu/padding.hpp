// regimen/engine/cpu/padding.hpp — texts that end before their tensor does: their lengths, and attention within these.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/engine/cpu/attention.hpp>
#include <regimen/engine/cpu/memory.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::cpu {

/// error   exact
inline void compute(const op::CountTokens& o, const Memory& at) {
  const std::int32_t* tokens = at(o.tokens);
  std::int32_t* const lengths = at(o.lengths);
  for (std::size_t b = 0; b < o.samples; ++b, tokens += o.length) {
    std::size_t count = o.length;
    while (count > 1 && tokens[count - 1] == o.padding) --count;
    lengths[b] = static_cast<std::int32_t>(count);
  }
}

/// cost   tiles of keys behind a sample's length are skipped; in the gradient they cost as others
template <class T>
void compute(const op::WithinLengths<op::Attention<T>>& o, const Memory& at) {
  detail::attend_in_tiles(o.whole, o.whole.qkv, o.whole.qkv, at, {}, o.lengths);
}
template <class T>
void compute(const op::WithinLengths<op::BiasedAttention<T>>& o, const Memory& at) {
  const op::Attention<T>& a = o.whole.attention;
  detail::attend_in_tiles(a, a.qkv, a.qkv, at, o.whole.bias, o.lengths);
}
template <class T>
void compute(const op::WithinLengths<op::CrossAttention<T>>& o, const Memory& at) {
  detail::attend_in_tiles(o.whole, o.whole.q, o.whole.kv, at, {}, o.lengths);
}

template <class T>
void compute(const op::WithinLengths<op::AttentionBackward<T>>& o, const Memory& at) {
  const op::AttentionBackward<T>& b = o.whole;
  detail::differentiate_in_tiles<T>(b, {b.qkv, b.d_qkv}, {b.qkv, b.d_qkv}, at, {}, o.lengths);
}
template <class T>
void compute(const op::WithinLengths<op::SharedAttentionBackward<T>>& o, const Memory& at) {
  compute(op::WithinLengths<op::AttentionBackward<T>>{o.whole.backward, o.lengths}, at);
}
template <class T>
void compute(const op::WithinLengths<op::BiasedAttentionBackward<T>>& o, const Memory& at) {
  const op::AttentionBackward<T>& b = o.whole.backward;
  detail::differentiate_in_tiles<T>(b, {b.qkv, b.d_qkv}, {b.qkv, b.d_qkv}, at, {o.whole.bias, o.whole.d_bias},
                                    o.lengths);
}
template <class T>
void compute(const op::WithinLengths<op::CrossAttentionBackward<T>>& o, const Memory& at) {
  const op::CrossAttentionBackward<T>& b = o.whole;
  detail::differentiate_in_tiles<T>(b, {b.q, b.d_q}, {b.kv, b.d_kv}, at, {}, o.lengths);
}

}  // namespace regimen::cpu
// SPDX-License-Identifier: Apache-2.0
