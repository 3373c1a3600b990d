// regimen/layer/cross_attention.hpp — multi-head attention to the positions of another text, which has a name.
#pragma once

#include <regimen/layer/children.hpp>
#include <regimen/layer/layer.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/self_attention.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace regimen {

namespace detail {

/// softmax(q kᵀ / √D) v per head, where x is q, and (k, v) = kv(the named value). This layer computes the product kv,
/// so k and v lie in memory once, and nothing else of the named text.
///   Norm   the epsilon of QueryKeyNorm, which normalises k; or void
template <class Name, class Layout, BiasIs bias, class Rate, class Norm>
struct AttendTo final {
  static constexpr const char* name = "attend_to";
  static constexpr bool couples_samples = false, is_part = true;

  template <class X, class Roles>
  struct Bound : NamedBound<Name, typename X::Element, typename Roles::kept> {
    using T = typename X::Element;
    using K = typename Roles::kept;
    using S = statistic_t<T>;
    using Base = NamedBound<Name, T, K>;
    using Text = Value<T, typename Name::Shape>;
    static constexpr std::size_t width = X::columns / Layout::heads;
    using Product = LinearBound<2 * Layout::key_heads * width, Text, Roles, T, bias>;
    using KeysAndValues = typename Product::Output;
    using Element = T;
    using Output = X;
    static constexpr bool normalizes = !std::is_void_v<Norm>;
    static constexpr std::size_t products = Product::parameters.size();
    /// If k and v have other columns than q, torch.nn has separate weights.
    static constexpr std::size_t outputs = (Text::columns == X::channels ? X::columns : 0) +
                                           (Text::columns == X::channels ? 2 : 1) * Layout::key_heads * width;
    static constexpr auto parameters = [] {
      constexpr auto product = in_projection(Product::parameters, Text::columns, outputs);
      if constexpr (!normalizes) return product;
      else {
        std::array<Parameter, products + 1> all{};
        for (std::size_t i = 0; i < products; ++i) all[i] = product[i];
        all[products] = gain_of_norm("norm", width);
        return all;
      }
    }();
    /// Of k, with v.
    using KeysNorm = HeadsNorm<T, typename Roles::reduce, Norm, width, 2 * Layout::key_heads * width>;
    using OfKeysAlone = PerSample<T, Text::rows * Layout::key_heads * width>;
    template <class Plain, class... WithNorm>
    using if_normalized = std::conditional_t<normalizes, boost::mp11::mp_push_back<Plain, WithNorm...>, Plain>;
    using OfText = PerSample<T, Text::size>;
    using OfKeys = PerSample<T, KeysAndValues::size>;
    using OfRows = PerSample<S, Layout::heads * X::rows>;
    // k and v, each row's softmax; k before its norm, and its rstd
    using Saved = if_normalized<Tensors<OfKeys, PerSample<S, 2 * Layout::heads * X::rows>>, OfKeysAlone,
                                PerSample<S, Text::rows * Layout::key_heads>>;
    // The named value in T; k after its norm.
    using ForwardScratch = if_normalized<std::conditional_t<Base::casts, Tensors<OfText>, Tensors<>>, OfKeysAlone>;
    /// y · d_y; the gradients of k and v, and of the named value in T; unless T is K: this gradient in K, the value in
    /// T; last the gradient of k.
    using BackwardScratch =
        if_normalized<std::conditional_t<Base::casts, Tensors<OfRows, OfKeys, OfText, PerSample<K, Text::size>, OfText>,
                                         Tensors<OfRows, OfKeys, OfText>>,
                      OfKeysAlone>;
    static constexpr Reads backward_reads(bool) { return Reads::input_and_output; }
    static constexpr bool adds_to_named = true, always_writes_d_x = true;

    static constexpr void forward(auto& walk, const auto& call) {
      NormOfKeys norm{};
      if constexpr (normalizes) norm = {call.saved[2], call.saved[3], call.scratch[ForwardScratch::count - 1]};
      write_keys(walk, call, call.saved[0], norm);
      walk.run(attention(walk, call, call.saved[0], call.saved[1], drop_of<Rate>(walk, call.path)));
    }
    static constexpr void backward(auto& walk, const auto& call) {
      walk.run(op::CrossAttentionBackward<T>{.q = {call.x},
                                             .kv = {call.saved[0]},
                                             .y = {call.y},
                                             .d_y = {call.d_y},
                                             .d_q = {call.d_x},
                                             .d_kv = {call.scratch[1]},
                                             .softmax = {call.saved[1]},
                                             .row_dot = {call.scratch[0]},
                                             .shape = shape(walk.batch),
                                             .drop = drop_of<Rate>(walk, call.path)});
      if constexpr (normalizes) {
        const View<T> d_kv{call.scratch[1]}, d_keys{call.scratch[BackwardScratch::count - 1]};
        KeysNorm::backward(walk, d_kv, d_kv,
                           {.x = {call.saved[2]},
                            .gain = {call.parameters[products]},
                            .d_y = d_keys,
                            .d_x = d_keys,
                            .rstd = {call.saved[3]},
                            .d_gain = {call.gradients[products]},
                            .add = call.add},
                           walk.batch * Text::rows, Layout::key_heads);
      }
      auto product = call;
      product.x = text<4>(walk, call);
      product.d_y = call.scratch[1];
      product.d_x = call.scratch[2];
      Product::backward(walk, product);
      if constexpr (Base::casts)
        Base::template add<T, K>(walk, call.scratch[2], call.d_named, std::array{call.scratch[3]});
      else Base::template add<T, K>(walk, call.scratch[2], call.d_named, call.scratch);
    }

   protected:
    /// k before its norm, its rstd, and k after it.
    struct NormOfKeys {
      std::size_t keys = 0, rstd = 0, copy = 0;
    };
    /// k and v of the text.
    static constexpr void write_keys(auto& walk, const auto& call, std::size_t keys_and_values,
                                     [[maybe_unused]] const NormOfKeys& norm) {
      auto product = call;
      product.x = text<0>(walk, call);
      product.y = keys_and_values;
      Product::forward(walk, product);
      if constexpr (normalizes) {
        const View<T> kv{keys_and_values};
        KeysNorm::forward(
            walk, kv, kv,
            {.x = {norm.keys}, .gain = {call.parameters[products]}, .y = {norm.copy}, .rstd = {norm.rstd}},
            walk.batch * Text::rows, Layout::key_heads);
      }
    }
    static constexpr op::CrossAttention<T> attention(auto& walk, const auto& call, std::size_t keys_and_values,
                                                     std::size_t softmax, const op::Drop& drop) {
      return {.q = {call.x},
              .kv = {keys_and_values},
              .y = {call.y},
              .softmax = {softmax},
              .shape = shape(walk.batch),
              .drop = drop};
    }

   private:
    /// Where the named value lies in T: in a scratch tensor, if it has been kept in another type.
    template <std::size_t scratch>
    static constexpr std::size_t text(auto& walk, const auto& call) {
      if constexpr (!Base::casts) return call.named;
      else {
        Base::template copy<K, T>(walk, call.named, call.scratch[scratch]);
        return call.scratch[scratch];
      }
    }
    static constexpr op::AttentionShape shape(std::size_t batch) {
      return {.batch = batch,
              .length = X::rows,
              .heads = Layout::heads,
              .width = width,
              .key_heads = Layout::key_heads == Layout::heads ? 0 : Layout::key_heads,
              .key_length = Text::rows,
              .is_scaled = Layout::is_scaled};
    }
  };
};

struct q_label {
  static constexpr const char* text = "q";
};
struct kv_label {
  static constexpr const char* text = "kv";
};

}  // namespace detail

namespace in_order {
/// regimen::CrossAttention, with its options in the order in which detail::option_place has them.
template <class Name, class HeadCount, class... Options>
struct CrossAttention final {
  static constexpr const char* name = "cross_attention";
  static constexpr std::size_t heads = detail::heads_in<HeadCount>;
  using Chosen = detail::attention_options<Options...>;
  using Layout =
      detail::HeadLayout<heads, (Chosen::key_heads > 0 ? Chosen::key_heads : heads), Chosen::width, 0, Chosen::scaled>;
  using Queries = detail::HeadLayout<heads, 0, Chosen::width>;
  template <class Attend>
  using PartsWith = boost::mp11::mp_append<
      boost::mp11::mp_list<detail::AttentionPart<
          detail::HeadsProduct<Queries, Chosen::bias, Value<fp32, typename Name::Shape>>, detail::q_label>>,
      detail::norm_part<Queries, typename Chosen::norm>,
      boost::mp11::mp_list<detail::AttentionPart<Attend, detail::kv_label>,
                           detail::AttentionPart<detail::ProjectionProduct<Chosen::bias>, detail::projection_label>>>;
  using Parts = PartsWith<
      detail::attend_within<typename Chosen::lengths, detail::AttendTo<Name, Layout, Chosen::bias,
                                                                       typename Chosen::rate, typename Chosen::norm>>>;
};
}  // namespace in_order
namespace detail {
template <class... Given>
struct cross_attention_in_order;
template <class Name, class HeadCount, class... Options>
struct cross_attention_in_order<Name, HeadCount, Options...> {
  using type =
      boost::mp11::mp_apply<in_order::CrossAttention,
                            boost::mp11::mp_push_front<typename attention_in_order<HeadCount, Options...>::type, Name>>;
};
}  // namespace detail

/// y = projection(concat over heads of softmax(q kᵀ / √D) v),  q = q(x), (k, v) = kv(the value of Keep<Name>)
///
///   struct Encoded : NamedValue<Shape<64, 512>> {};
///   Model<..., Keep<Encoded>, ..., Residual<LayerNorm, CrossAttention<Encoded, Heads<8>>>, ...>
///
///   x, y (B,T,C)   the named value (B,S,C')   H = N heads of D = C / H channels, K = H key heads
///   q.weight (HD,C), q.bias (HD)   kv.weight (2KD,C'), kv.bias (2KD)   projection.weight (C,HD), projection.bias (C)
///   options, in any order:
///     Within<Length>         no position attends to the padding at the end of the named text; see KeepLength
///     Dropout<Ratio<...>>    on the probabilities
///     KeyHeads<K>            H / K neighbouring heads share keys and values
///     HeadWidth<D>           the channels of a head, for any C
///     QueryKeyNorm<>         each head's q and k are normalised: norm.query (D), kv.norm (D)
///     WithoutScale           scores are q kᵀ
///     WithoutBias            no product has a bias
///
/// Every position sees all S positions, or with Within only the positions before the end of the text. A model may have
/// the layer wherever it may have a Read<Name>.
///
/// refuses  all that SelfAttention refuses; options about positions (Causal, Rotary, Alibi); Attention<Cudnn>
/// decodes  incrementally, if the encoder is a branch by itself (see generate): k and v of the encoder's text are the
///          cache
/// error    as SelfAttention
/// source   Vaswani et al. 2017, section 3.2; in Attention<Tiled> as Dao et al. 2022, so (T,S) is not stored
/// cost     saves q, k, v, the heads' output, and 2·B·H·T statistics; with QueryKeyNorm q and k twice, and statistics
///          of each. As a Read does, it keeps the named value and its gradient
template <class... Given>
using CrossAttention = typename detail::cross_attention_in_order<Given...>::type;

/// Written out in its place.
template <class Name, class HeadCount, class... Options>
struct children<in_order::CrossAttention<Name, HeadCount, Options...>>
    : detail::ChildrenInPlace<typename in_order::CrossAttention<Name, HeadCount, Options...>::Parts> {};

}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
