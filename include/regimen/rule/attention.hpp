// regimen/rule/attention.hpp — rules of attention: heads, rotary positions, windows, keys of another length.
#pragma once

#include <regimen/core/operation.hpp>
#include <regimen/core/ratio.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/rule/layer_rules.hpp>
#include <regimen/rule/layers.hpp>
#include <regimen/rule/norms.hpp>
#include <regimen/rule/shapes.hpp>
#include <regimen/rule/texts.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen::rule {

/// If a misplaced Causal were ignored, the model would train and learn to look ahead.
/// Known: false of what stands in the place of Heads<N>.   docs/errors/attention.md#attention_takes_option
template <class Option, bool Known = is_among<detail::attention_options, Option>>
struct attention_takes_option {
  static constexpr bool holds = Known;
  struct must_hold {
    static_assert(
        holds,
        "regimen: SelfAttention takes Heads<N> first, then its own options, as Causal or Rotary<>; write no other option");
  };
};

/// One of two Dropouts would be ignored.   docs/errors/attention.md#attention_options_differ
template <class... Options>
struct attention_options_differ {
  static constexpr bool holds = options_differ<detail::attention_options, Options...>;
  struct must_hold {
    static_assert(holds, "regimen: attention has an option twice; keep one of each kind");
  };
};

/// Whether it is an option of attention, and none about positions, which stand from Causal to Alibi.
template <class Option, int place = detail::option_place<Option>.place>
inline constexpr bool crosses_with =
    is_among<detail::attention_options, Option> && !std::is_same_v<Option, WithoutProjectionBias> &&
    !(place >= detail::option_place<Causal>.place && place <= detail::option_place<Alibi>.place);
/// Positions of two texts have no order, so there is no Causal, no Rotary, and no bias of distances.
/// Known: false of what stands in the place of Heads<N>.   docs/errors/attention.md#cross_attention_takes_option
template <class Option, bool Known = crosses_with<Option>>
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
  static constexpr bool holds = is_above_zero<Theta>;
  struct must_hold {
    static_assert(holds, "regimen: Rotary<Theta> takes a Ratio above zero; write Rotary<>, or Rotary<Ratio<500'000>>");
  };
};

/// Near positions have a bucket for each distance, in each direction.
/// docs/errors/attention.md#relative_bias_has_buckets
template <class Bias>
struct relative_bias_has_buckets {
  static constexpr bool holds = Bias::buckets >= 4 && Bias::buckets % 2 == 0 && Bias::most > Bias::buckets / 2;
  struct must_hold {
    static_assert(
        holds,
        "regimen: RelativeBias<B, M> has an even B of 4 or more, and M above B / 2; write RelativeBias<32, 128>");
  };
};

/// Attention has a SlidingWindow without Causal.   docs/errors/attention.md#sliding_window_is_causal
template <class Attention>
struct sliding_window_is_causal {
  static constexpr bool holds = Attention::Chosen::window == 0 || Attention::Chosen::causal;
  struct must_hold {
    static_assert(holds, "regimen: SlidingWindow<N> is the N positions up to a position itself; add Causal");
  };
};

/// The rules of the width of a head: where it is given, where it is a part of the channels, and where it is none.
template <class Attention, class HeadCount_, class X>
struct head_width {
  using HeadCount = HeadCount_;
  static constexpr std::size_t given = Attention::Chosen::width, count = HeadCount::count;
  using Named = std::conditional_t<(given > 0), HeadWidth<given>, HeadCount>;
  static constexpr std::size_t width = given > 0                              ? given
                                       : count > 0 && X::columns % count == 0 ? X::columns / count
                                                                              : 0;
  using rules = mp::mp_append<
      std::conditional_t<(given > 0), mp::mp_list<>, mp::mp_list<heads_divide_width<HeadCount, typename X::Shape>>>,
      mp::mp_list<heads_at_most_2048<Named, width>>>;
};
template <class Rate, class Head>
struct rules_of_option<Dropout<Rate>, Head> : RuleList<fraction_is_a_ratio<Rate>, rate_below_one<Rate>> {};
template <class Value, class Head>
struct rules_of_option<QueryKeyNorm<Epsilon<Value>>, Head> : RuleList<epsilon_above_zero<Value>> {};
template <class Theta, class Scaling, class Head>
struct rules_of_option<Rotary<Theta, Scaling>, Head>
    : RuleList<theta_above_zero<Theta>, rotary_scales_frequencies<Scaling>,
               rotary_turns_pairs<typename Head::Named, Head::width>> {};
template <std::size_t N, class Head>
struct rules_of_option<SlidingWindow<N>, Head> : RuleList<extents_at_least_one<SlidingWindow<N>, N>> {};
template <std::size_t Buckets, std::size_t MaxDistance, class Table, class Head>
struct rules_of_option<RelativeBias<Buckets, MaxDistance, Table>, Head>
    : RuleList<relative_bias_has_buckets<RelativeBias<Buckets, MaxDistance, Table>>> {};
template <class Name, class Head>
struct rules_of_option<Within<Name>, Head> : RuleList<within_names_length<Name>> {};
template <std::size_t Count, class Head>
struct rules_of_option<KeyHeads<Count>, Head>
    : RuleList<key_heads_divide_heads<typename Head::HeadCount, KeyHeads<Count>>> {};
template <std::size_t Channels, class Head>
struct rules_of_option<HeadWidth<Channels>, Head>
    : RuleList<extents_at_least_one<HeadWidth<Channels>, Channels>,
               extents_at_least_one<typename Head::HeadCount, Head::count>> {};
/// The rule about the length that ends the keys of an attention; holds if that has none, or something else has its
/// name.
template <class Attention, std::size_t keys>
using length_of_keys =
    within_ends_its_keys<Attention, (detail::positions_of<typename Attention::Chosen::lengths> > 0 ? keys : 0),
                         detail::positions_of<typename Attention::Chosen::lengths>>;
template <class HeadCount, class... Options, class X>
struct layer_rules<in_order::SelfAttention<HeadCount, Options...>, X>
    : RuleList<input_matches<X, in_order::SelfAttention<HeadCount, Options...>>,
               attention_takes_option<HeadCount, false>> {};
template <std::size_t Count, class... Options, class X>
struct layer_rules<in_order::SelfAttention<Heads<Count>, Options...>, X> {
 private:
  using Attention = in_order::SelfAttention<Heads<Count>, Options...>;
  using Head = head_width<Attention, Heads<Count>, X>;

 public:
  using type = mp::mp_append<
      typename position_rules<Attention, X>::type, typename Head::rules,
      mp::mp_list<
          attention_takes_option<Options>..., attention_options_differ<Options...>, sliding_window_is_causal<Attention>,
          within_looks_ahead<Attention>,
          length_of_keys<Attention,
                         (X::Shape::rank == 2 ? X::rows : detail::positions_of<typename Attention::Chosen::lengths>)>>,
      typename rules_of_option<Options, Head>::type...>;
};
template <class Name, class HeadCount, class... Options, class X>
struct layer_rules<in_order::CrossAttention<Name, HeadCount, Options...>, X>
    : RuleList<input_matches<X, in_order::CrossAttention<Name, HeadCount, Options...>>,
               cross_attention_takes_option<HeadCount, false>> {};
template <class Name, std::size_t Count, class... Options, class X>
struct layer_rules<in_order::CrossAttention<Name, Heads<Count>, Options...>, X> {
 private:
  using Attention = in_order::CrossAttention<Name, Heads<Count>, Options...>;
  using Head = head_width<Attention, Heads<Count>, X>;
  using TextShape = typename detail::shape_of_name<Name>::type;
  /// Of x and the text the one that has no positions; where name_declares_shape or input_matches refuses, none.
  using Positions = std::conditional_t<std::is_void_v<TextShape> || !Number<typename X::Element>, Shape<1, 1>,
                                       std::conditional_t<X::Shape::rank != 2, typename X::Shape, TextShape>>;
  static constexpr std::size_t keys = [] {
    if constexpr (Positions::rank == 2 && !std::is_void_v<TextShape>) return TextShape::rows;
    else return detail::positions_of<typename Attention::Chosen::lengths>;
  }();

 public:
  using type =
      mp::mp_append<named_layer_rules<Attention, Name, TextShape, X>, typename Head::rules,
                    mp::mp_list<layer_takes_positions<Attention, Positions>, length_of_keys<Attention, keys>>,
                    mp::mp_list<cross_attention_takes_option<Options>..., attention_options_differ<Options...>>,
                    typename rules_of_option<Options, Head>::type...>;
};

}  // namespace regimen::rule
// SPDX-License-Identifier: Apache-2.0
