// regimen/layer/attention_options.hpp — the options of SelfAttention and CrossAttention.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/ratio.hpp>
#include <regimen/layer/attention_bias.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/in_order.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/padding.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen {

/// The number of heads. They share the channels equally, unless HeadWidth<D> gives their width.
template <std::size_t Count>
struct Heads final {
  static constexpr std::size_t count = Count;
};

/// The number of key heads. H / Count neighbouring heads share the keys and values of one key head.
///
/// source   Ainslie et al. 2023 (grouped-query attention); Shazeer 2019 (one key head for all)
template <std::size_t Count>
struct KeyHeads final {
  static constexpr std::size_t count = Count;
};

/// The channels of a head.
template <std::size_t Channels>
struct HeadWidth final {
  static constexpr std::size_t channels = Channels;
};

/// A position attends only to itself and to earlier positions.
struct Causal final {};

/// A position attends only to N positions: itself and the N − 1 positions before it, as in Mistral 7B.
///
/// source   Child et al. 2019; Beltagy et al. 2020; Jiang et al. 2023, section 2
template <std::size_t N>
struct SlidingWindow final {
  static constexpr std::size_t positions = N;
};

/// The second product has no bias, as in Qwen 2.5.
struct WithoutProjectionBias final {};

/// Neither product has a bias.
struct WithoutBias final {};

/// Scores are q kᵀ, not q kᵀ / √D, as in T5, whose smaller initial weights compensate.
struct WithoutScale final {};

/// RmsNorm of each head's q and k, before their rotation. All heads of q share a weight of D numbers, all heads of k
/// another. Scores then stay small, even if the elements of q and k grow.
///
/// epsilon  Epsilon<Ratio<...>>, by default 1e-6, as in Qwen3
/// source   Henry et al. 2020; by RMS norms: Qwen Team 2025, "Qwen3 Technical Report", section 2
template <class Added = Epsilon<Ratio<1, 1'000'000>>>
struct QueryKeyNorm final {};

/// Rotary frequencies without scaling.
struct Unscaled final {};

/// Rotary frequencies for texts longer than in training, as in Llama 3.1. Pairs of fewer than LowFrequency turns within
/// OriginalLength positions turn `Factor` times slower; pairs of more than HighFrequency turns keep their speed; others
/// are between the two.
///
///   Factor, LowFrequency, HighFrequency   Ratios above 0, LowFrequency below HighFrequency
///
/// source   Llama Team 2024, "The Llama 3 Herd of Models"; the formula of their reference code
template <class Factor = Ratio<8>, class LowFrequency = Ratio<1>, class HighFrequency = Ratio<4>,
          std::size_t OriginalLength = 8192>
struct Llama3Scaling final {};

/// Rotary position embedding: rotates q and k by angles that grow with their position; their products then depend on
/// distances. Channels i and i + D/2 of a head are a pair, which turns by Theta^(−2i/D) per position, as in Llama and
/// GPT-NeoX.
///
///   Theta     a Ratio above 0
///   Scaling   Unscaled, or Llama3Scaling<...>
///
/// error    angles in fp64: off by at most 2^−34 up to position 131072, also with Llama3Scaling<>
/// source   Su et al. 2021, section 3.2.2
template <class Theta = Ratio<10'000>, class Scaling = Unscaled>
struct Rotary;
template <class Theta>
struct Rotary<Theta, Unscaled> final {
  static constexpr op::RotaryFrequencies frequencies() { return {.theta = Theta::value}; }
};
template <class Theta, class Factor, class LowFrequency, class HighFrequency, std::size_t OriginalLength>
struct Rotary<Theta, Llama3Scaling<Factor, LowFrequency, HighFrequency, OriginalLength>> final {
  static constexpr op::RotaryFrequencies frequencies() {
    return {.theta = Theta::value,
            .factor = Factor::value,
            .low = LowFrequency::value,
            .high = HighFrequency::value,
            .original_length = static_cast<double>(OriginalLength)};
  }
};

namespace detail {

/// 0 if Heads<N> does not come first: then only the rule attention_takes_option reports an error.
template <class HeadCount>
inline constexpr std::size_t heads_in = 0;
template <std::size_t Count>
inline constexpr std::size_t heads_in<Heads<Count>> = Count;

template <class... Options>
struct attention_options {
  using rate = Ratio<0>;
  using rotary = void;
  using norm = void;       // its epsilon
  using distances = void;  // Alibi, or RelativeBias<...>
  using lengths = void;    // the name of Within
  static constexpr bool causal = false, scaled = true;
  static constexpr BiasIs bias = BiasIs::added_here;
  static constexpr std::size_t key_heads = 0, width = 0, window = 0;  // not given
  static constexpr bool projects_with_bias = true;
};
template <class... Rest>
struct attention_options<WithoutProjectionBias, Rest...> : attention_options<Rest...> {
  static constexpr bool projects_with_bias = false;
};
template <std::size_t N, class... Rest>
struct attention_options<SlidingWindow<N>, Rest...> : attention_options<Rest...> {
  static constexpr std::size_t window = N;
};
template <class... Rest>
struct attention_options<Causal, Rest...> : attention_options<Rest...> {
  static constexpr bool causal = true;
};
template <class... Rest>
struct attention_options<WithoutScale, Rest...> : attention_options<Rest...> {
  static constexpr bool scaled = false;
};
template <class... Rest>
struct attention_options<Alibi, Rest...> : attention_options<Rest...> {
  using distances = Alibi;
};
template <std::size_t Buckets, std::size_t MaxDistance, class Table, class... Rest>
struct attention_options<RelativeBias<Buckets, MaxDistance, Table>, Rest...> : attention_options<Rest...> {
  using distances = RelativeBias<Buckets, MaxDistance, Table>;
};
template <class... Rest>
struct attention_options<WithoutBias, Rest...> : attention_options<Rest...> {
  static constexpr BiasIs bias = BiasIs::absent;
};
template <class Name, class... Rest>
struct attention_options<Within<Name>, Rest...> : attention_options<Rest...> {
  using lengths = Name;
};
template <std::size_t Count, class... Rest>
struct attention_options<KeyHeads<Count>, Rest...> : attention_options<Rest...> {
  static constexpr std::size_t key_heads = Count;
};
template <std::size_t Channels, class... Rest>
struct attention_options<HeadWidth<Channels>, Rest...> : attention_options<Rest...> {
  static constexpr std::size_t width = Channels;
};
template <class Value, class... Rest>
struct attention_options<QueryKeyNorm<Epsilon<Value>>, Rest...> : attention_options<Rest...> {
  using norm = Epsilon<Value>;
};
template <class Theta, class Scaling, class... Rest>
struct attention_options<Rotary<Theta, Scaling>, Rest...> : attention_options<Rest...> {
  using rotary = Rotary<Theta, Scaling>;
};
template <class Rate, class... Rest>
struct attention_options<Dropout<Rate>, Rest...> : attention_options<Rest...> {
  using rate = Rate;
};

template <std::size_t Count>
inline constexpr OptionPlace option_place<KeyHeads<Count>>{0};
template <std::size_t Channels>
inline constexpr OptionPlace option_place<HeadWidth<Channels>>{1};
template <>
inline constexpr OptionPlace option_place<Causal>{2};
template <std::size_t N>
inline constexpr OptionPlace option_place<SlidingWindow<N>>{3};
template <class Theta, class Scaling>
inline constexpr OptionPlace option_place<Rotary<Theta, Scaling>>{4};
template <>
inline constexpr OptionPlace option_place<Alibi>{5};
template <std::size_t Buckets, std::size_t MaxDistance, class Table>
inline constexpr OptionPlace option_place<RelativeBias<Buckets, MaxDistance, Table>>{5};
template <class Added>
inline constexpr OptionPlace option_place<QueryKeyNorm<Added>>{6};
template <>
inline constexpr OptionPlace option_place<WithoutScale>{7};
template <>
inline constexpr OptionPlace option_place<WithoutBias>{8};
template <>
inline constexpr OptionPlace option_place<WithoutProjectionBias>{8};
template <class Name>
inline constexpr OptionPlace option_place<Within<Name>>{9};
template <class Rate>
inline constexpr OptionPlace option_place<Dropout<Rate>>{10, std::is_same_v<Rate, Ratio<0>>};

/// The options of attention in order, after the number of heads; KeyHeads<H> for H heads is left out.
template <class HeadCount, class... Options>
struct attention_in_order {
  using type = boost::mp11::mp_push_front<typename types_in_order<Options...>::type, HeadCount>;
};
template <std::size_t Count, class... Options>
  requires(types_in_order<Options...>::sound)
struct attention_in_order<Heads<Count>, Options...> {
  using type =
      boost::mp11::mp_remove<boost::mp11::mp_push_front<typename types_in_order<Options...>::type, Heads<Count>>,
                             KeyHeads<Count>>;
};

}  // namespace detail

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
