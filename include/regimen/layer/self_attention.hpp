// regimen/layer/self_attention.hpp — multi-head attention among the positions of a sample.
#pragma once

#include <regimen/layer/attention_bias.hpp>
#include <regimen/layer/attention_options.hpp>
#include <regimen/layer/attention_parts.hpp>
#include <regimen/layer/children.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/padding.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen {

namespace detail {

struct qkv_label {
  static constexpr const char* text = "qkv";
};
struct norm_label {
  static constexpr const char* text = "norm";
};
struct rotary_label {
  static constexpr const char* text = "rotary";
};
struct attend_label {
  static constexpr const char* text = "attend";
};
struct projection_label {
  static constexpr const char* text = "projection";
};

/// A layer that attention is made of, and its name in paths.
template <class Layer_, class Label_>
struct AttentionPart final {
  using Layer = Layer_;
  using Label = Label_;
};
template <class Part>
using layer_of_part = typename Part::Layer;
template <class Parts>
using layers_of_parts = boost::mp11::mp_transform<layer_of_part, Parts>;
/// The children of attention, which is written out in its place.
template <class Parts>
struct ChildrenInPlace {
  using type = layers_of_parts<Parts>;
  static constexpr std::size_t levels = 0;
};

/// The norm, if there is one.
template <class Layout, class Norm>
using norm_part = std::conditional_t<std::is_void_v<Norm>, boost::mp11::mp_list<>,
                                     boost::mp11::mp_list<AttentionPart<NormalizeHeads<Layout, Norm>, norm_label>>>;

/// With a bias of distances, or without.
template <class Layout, class Chosen, class Distances>
using attend_alone =
    std::conditional_t<std::is_void_v<Distances>, Attend<Layout, Chosen::causal, typename Chosen::rate>,
                       AttendByDistance<Layout, Chosen::causal, typename Chosen::rate, Distances>>;
/// What attends: within lengths, if there are any; inside the Shared of its table, if this has a name.
template <class Layout, class Chosen, class Distances = typename Chosen::distances>
using attend_of =
    typename with_table<Distances,
                        attend_within<typename Chosen::lengths, attend_alone<Layout, Chosen, Distances>>>::type;

template <class Chosen>
inline constexpr BiasIs projection_bias = Chosen::projects_with_bias ? Chosen::bias : BiasIs::absent;

/// The layers that attention consists of: two products, `Attend` between them, and before `Attend` the norm and the
/// rotation.
template <class Layout, class Chosen, class Attend, bool walks_on>
using attention_parts = boost::mp11::mp_append<
    boost::mp11::mp_list<AttentionPart<HeadsProduct<Layout, Chosen::bias>, qkv_label>>,
    norm_part<Layout, typename Chosen::norm>,
    std::conditional_t<
        std::is_void_v<typename Chosen::rotary>, boost::mp11::mp_list<>,
        boost::mp11::mp_list<AttentionPart<RotateHeads<Layout, typename Chosen::rotary, walks_on>, rotary_label>>>,
    boost::mp11::mp_list<AttentionPart<Attend, attend_label>,
                         AttentionPart<ProjectionProduct<projection_bias<Chosen>>, projection_label>>>;

}  // namespace detail

namespace in_order {
/// regimen::SelfAttention, with its options in the order in which detail::option_place has them.
template <class HeadCount, class... Options>
struct SelfAttention final {
  static constexpr const char* name = "self_attention";
  static constexpr std::size_t heads = detail::heads_in<HeadCount>;
  using Chosen = detail::attention_options<Options...>;
  using Layout = detail::HeadLayout<heads, (Chosen::key_heads > 0 ? Chosen::key_heads : heads), Chosen::width,
                                    Chosen::window, Chosen::scaled>;
  using Attend = detail::attend_of<Layout, Chosen>;
  using Parts = detail::attention_parts<Layout, Chosen, Attend, false>;
};
}  // namespace in_order
namespace detail {
template <class... Given>
struct self_attention_in_order;
template <class HeadCount, class... Options>
struct self_attention_in_order<HeadCount, Options...> {
  using type = boost::mp11::mp_apply<in_order::SelfAttention, typename attention_in_order<HeadCount, Options...>::type>;
};
}  // namespace detail
/// y = projection(concat over heads of softmax(q kᵀ / √D) v),  (q, k, v) = qkv(x)
///
///   x, y (B,T,C)   H = N heads of D = C / H channels, K = H key heads
///   qkv.weight ((H+2K)D,C), qkv.bias ((H+2K)D)   projection.weight (C,HD), projection.bias (C)
///   options, in any order:
///     Causal                 a position does not attend to later ones
///     SlidingWindow<N>       with Causal: position t attends to t − N + 1, ..., t; Attention<Tiled> skips tiles
///                            outside
///     Within<Name>           without Causal: no position attends to the padding at the end of a text; see KeepLength
///     Dropout<Ratio<...>>    on the probabilities
///     KeyHeads<K>            H / K neighbouring heads share keys and values
///     HeadWidth<D>           the channels of a head, for any C
///     QueryKeyNorm<>         each head's q and k are normalised: norm.query (D), norm.key (D)
///     Rotary<Theta, ...>     q and k are rotated by their positions
///     Alibi                  scores fall with the distance, at the slope of the head
///     RelativeBias<...>      scores have a trained number for their head and distance: attend.table (buckets,H)
///     WithoutScale           scores are q kᵀ
///     WithoutBias            neither product has a bias
///     WithoutProjectionBias  the second product has no bias
///
/// refuses  heads that do not divide C, without HeadWidth; key heads that do not divide heads; Rotary with an odd D;
///          SlidingWindow without Causal; SlidingWindow, Within, Alibi and RelativeBias in Attention<Cudnn>; fewer key
///          heads than heads in Attention<Composed> and Attention<Cudnn>, so also in the default of a GPU
/// error    A score is off by at most s = (D + 2) u · Σ |q k| / √D, with the sum over D channels, and u half an ulp
///          of 1. A probability is off by at most a factor of e^s.
///          Backward computes the probabilities again: with the bits of forward, or in Attention<Composed> equally
///          exact. So gradients are as exact as with saved probabilities, for scores of any size.
///          Attention<Tiled> takes Σ p d_p from the stored, rounded y if a query sees more keys than a tile has (64 on
///          Cpu, 32 in fp64, 128 on a GPU) and none of its probabilities is above 1 − 2^−10.
///          The errors of Attention<Cudnn> are cuDNN's
/// source   Vaswani et al. 2017, section 3.2; Attention<Tiled>: Dao et al. 2022, which does not store (T,T)
/// cost     saves q, k, v, the heads' output, and 2·B·H·T statistics; with QueryKeyNorm q, k, v twice, and statistics
///          of each; with Alibi and RelativeBias some H·T numbers while it runs; RelativeBias B·H·T more in backward,
///          and 2·T² additions a head. Decoding keeps 2·T·K·D numbers of a text; with a window it reads N positions of
///          them
template <class... Given>
using SelfAttention = typename detail::self_attention_in_order<Given...>::type;

/// Written out in its place.
template <class HeadCount, class... Options>
struct children<in_order::SelfAttention<HeadCount, Options...>>
    : detail::ChildrenInPlace<typename in_order::SelfAttention<HeadCount, Options...>::Parts> {};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
