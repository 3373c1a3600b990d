// regimen/kernel/padding.hpp — texts that end before their tensor does: their lengths, and attention within these.
#pragma once

#include <regimen/kernel/attention.hpp>
#include <regimen/kernel/attention_backward.hpp>
#include <regimen/kernel/attention_bias.hpp>
#include <regimen/kernel/block.hpp>

#include <cstddef>
#include <cstdint>

namespace regimen::kernel {

/// lengths[b] = the tokens of sample b without the padding at its end, at least 1. A thread for each sample, which
/// reads its padding from the end on: padding tokens between others count.
REGIMEN_HD constexpr std::size_t pieces(const op::CountTokens& o, Launch<0>) { return o.samples; }
REGIMEN_HD inline void compute(const op::CountTokens& o, const Memory& at, std::size_t b, Launch<0>) {
  const std::int32_t* const tokens = at(o.tokens) + b * o.length;
  std::size_t count = o.length;
  while (count > 1 && tokens[count - 1] == o.padding) --count;
  at(o.lengths)[b] = static_cast<std::int32_t>(count);
}

// The kernels of attention themselves: they ask whether an operation has lengths, and then end at a sample's last key.

template <class T>
struct Kernel<op::WithinLengths<op::Attention<T>>> final
    : AttentionLaunch<op::WithinLengths<op::Attention<T>>, T, KeysOf::heads> {};
template <class T>
struct Kernel<op::WithinLengths<op::BiasedAttention<T>>> final
    : AttentionLaunch<op::WithinLengths<op::BiasedAttention<T>>, T, KeysOf::distance> {};
template <class T>
struct Kernel<op::WithinLengths<op::CrossAttention<T>>> final
    : AttentionLaunch<op::WithinLengths<op::CrossAttention<T>>, T, KeysOf::other_text> {};

// Of keys behind the length the gradients are zero.

template <class T, unsigned pass>
struct Kernel<op::WithinLengths<op::AttentionBackward<T>>, pass> final
    : AttentionBackwardLaunch<op::WithinLengths<op::AttentionBackward<T>>, T, pass, KeysOf::heads> {};
template <class T, unsigned pass>
struct Kernel<op::WithinLengths<op::SharedAttentionBackward<T>>, pass> final
    : AttentionBackwardLaunch<op::WithinLengths<op::SharedAttentionBackward<T>>, T, pass, KeysOf::heads> {};
template <class T, unsigned pass>
struct Kernel<op::WithinLengths<op::CrossAttentionBackward<T>>, pass> final
    : AttentionBackwardLaunch<op::WithinLengths<op::CrossAttentionBackward<T>>, T, pass, KeysOf::other_text> {};
template <class T, unsigned pass>
struct Kernel<op::WithinLengths<op::BiasedAttentionBackward<T>>, pass> final
    : AttentionBackwardLaunch<op::WithinLengths<op::BiasedAttentionBackward<T>>, T, pass, KeysOf::distance> {
  static constexpr unsigned passes = 4;
};
template <class T>
struct Kernel<op::WithinLengths<op::BiasedAttentionBackward<T>>, 3> final
    : BiasGradientLaunch<op::WithinLengths<op::BiasedAttentionBackward<T>>, T> {};

}  // namespace regimen::kernel
// SPDX-License-Identifier: Apache-2.0
