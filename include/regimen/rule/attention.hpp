// regimen/rule/attention.hpp — rules. Attention: heads, positions, windows.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/ratio.hpp>
#include <regimen/layer/self_attention.hpp>

#include <cstddef>

namespace regimen::rule {

/// If a misplaced Causal were ignored, the model would train and learn to look ahead.
/// Known: whether Option is one of SelfAttention's options.   docs/errors/attention.md#attention_takes_option
template <class Option, bool Known = false>
struct attention_takes_option {
  static constexpr bool holds = Known;
  struct must_hold {
    static_assert(
        holds,
        "regimen: SelfAttention takes Heads<N> first, then its own options, as Causal or Rotary<>; write no other option");
  };
};

/// One of two Dropouts would be ignored. Most: how often an option occurs.
/// docs/errors/attention.md#attention_options_differ
template <class Attention, std::size_t Most>
struct attention_options_differ {
  static constexpr bool holds = Most <= 1;
  struct must_hold {
    static_assert(holds, "regimen: attention has an option twice; keep one of each kind");
  };
};

/// Positions of two texts have no order, so there is no Causal, no Rotary, and no bias of distances.
/// Known: whether Option is one of CrossAttention's options.   docs/errors/attention.md#cross_attention_takes_option
template <class Option, bool Known = false>
struct cross_attention_takes_option {
  static constexpr bool holds = Known;
  struct must_hold {
    static_assert(
        holds,
        "regimen: CrossAttention<Name, Heads<N>, ...> takes options that are not about positions; write no other option");
  };
};

/// Attention cuts the channels of Input, a shape, into HeadCount equal heads.
/// docs/errors/attention.md#heads_divide_width
template <class HeadCount, class Input>
struct heads_divide_width {
  static constexpr bool holds =
      HeadCount::count >= 1 && Input::columns % (HeadCount::count >= 1 ? HeadCount::count : 1) == 0;
  struct must_hold {
    static_assert(holds, "regimen: Heads<N> cuts the width into N equal heads; write an N that divides the width");
  };
};

/// Named, Heads<N> or HeadWidth<D>, makes heads of Width channels.   docs/errors/attention.md#heads_at_most_2048
template <class Named, std::size_t Width>
struct heads_at_most_2048 {
  static constexpr bool holds = Width <= op::AttentionShape::largest_width;
  struct must_hold {
    static_assert(
        holds,
        "regimen: attention takes heads of at most 2048 channels; write a larger N in Heads<N>, or a smaller HeadWidth<D>");
  };
};

/// Neighbouring heads share keys and values.   docs/errors/attention.md#key_heads_divide_heads
template <class HeadCount, class KeyHeadCount>
struct key_heads_divide_heads {
  static constexpr bool holds =
      KeyHeadCount::count >= 1 && HeadCount::count % (KeyHeadCount::count >= 1 ? KeyHeadCount::count : 1) == 0;
  struct must_hold {
    static_assert(holds,
                  "regimen: KeyHeads<K> are each shared by equally many heads; write a K that divides N in Heads<N>");
  };
};

/// Named, Heads<N> or HeadWidth<D>, makes heads of Width channels.   docs/errors/attention.md#rotary_turns_pairs
template <class Named, std::size_t Width>
struct rotary_turns_pairs {
  static constexpr bool holds = Width % 2 == 0;
  struct must_hold {
    static_assert(holds,
                  "regimen: Rotary turns pairs of a head's channels; write Heads<N> or HeadWidth<D> with even heads");
  };
};

template <class Scaling>
inline constexpr bool is_frequency_scaling = false;
template <>
inline constexpr bool is_frequency_scaling<Unscaled> = true;
template <class Factor, class Low, class High, std::size_t OriginalLength>
  requires(is_ratio<Factor> && is_ratio<Low> && is_ratio<High>)
inline constexpr bool is_frequency_scaling<Llama3Scaling<Factor, Low, High, OriginalLength>> =
    Factor::value > 0 && Low::value > 0 && Low::value < High::value&& OriginalLength > 0;

/// Pairs are divided by how often they turn within the original length.
/// docs/errors/attention.md#rotary_scales_frequencies
template <class Scaling>
struct rotary_scales_frequencies {
  static constexpr bool holds = is_frequency_scaling<Scaling>;
  struct must_hold {
    static_assert(
        holds,
        "regimen: Rotary<Theta, ...> takes Llama3Scaling<Factor, Low, High, Length>; write Ratios above 0, Low < High");
  };
};

/// Pairs of channels turn by powers of it.   docs/errors/attention.md#theta_above_zero
template <class Theta>
struct theta_above_zero {
  static constexpr bool holds = [] {
    if constexpr (is_ratio<Theta>) return Theta::value > 0;
    else return false;
  }();
  struct must_hold {
    static_assert(holds, "regimen: Rotary<Theta> takes a Ratio above zero; write Rotary<>, or Rotary<Ratio<500'000>>");
  };
};

/// Fits: 4 buckets or more, an even number, and MaxDistance above half of them.
/// docs/errors/attention.md#relative_bias_has_buckets
template <class Bias, bool Fits>
struct relative_bias_has_buckets {
  static constexpr bool holds = Fits;
  struct must_hold {
    static_assert(
        holds,
        "regimen: RelativeBias<B, M> has an even B of 4 or more, and M above B / 2; write RelativeBias<32, 128>");
  };
};

/// Attention has a SlidingWindow. IsCausal: and Causal.   docs/errors/attention.md#sliding_window_is_causal
template <class Attention, bool IsCausal>
struct sliding_window_is_causal {
  static constexpr bool holds = IsCausal;
  struct must_hold {
    static_assert(holds, "regimen: SlidingWindow<N> is the N positions up to a position itself; add Causal");
  };
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
