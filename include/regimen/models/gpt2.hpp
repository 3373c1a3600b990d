// regimen/models/gpt2.hpp — GPT-2, exactly: the published sizes, and weights in the naming of Hugging Face.
#pragma once

#include <regimen/core/refused.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/models/names.hpp>
#include <regimen/models/rules.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

namespace regimen {

namespace detail {

template <std::size_t Words, std::size_t Channels, std::size_t HeadCount, std::size_t Depth, class... Drop>
struct gpt2_layers {
  using Table = Embedding<Vocabulary<Words>, Channels>;
  using Block = Sequential<Residual<LayerNorm, SelfAttention<Heads<HeadCount>, Causal, Drop...>, Drop...>,
                           Residual<LayerNorm, Linear<4 * Channels>, GeluTanh, Linear<Channels>, Drop...>>;
  template <std::size_t Length>
  using model = Model<Input<Tokens<Length>>, Table, PositionEmbedding, Drop..., Repeat<Depth, Block>, LayerNorm,
                      TiedLinear<Table>>;
};

}  // namespace detail

/// GPT-2: learned positions, norms before attention and before the two-layer network, GELU by tanh, epsilon 1e-5,
/// biases everywhere except in the output layer, which shares the token table.
///
///   Words, Length, Channels, HeadCount, Depth   vocabulary, positions, width, heads, blocks
///   Rate    dropout after the embedding, on attention, and at the end of each branch;
///           GPT-2 was trained with Ratio<1, 10>
///
///   struct Mine : Gpt2Model<50257, 256, 384, 6, 6> {};   Trainer<Mine, Init<Gpt2>, ...>
///
/// source   Radford et al. 2019
template <std::size_t Words, std::size_t Length, std::size_t Channels, std::size_t HeadCount, std::size_t Depth,
          class Rate = Ratio<0>>
struct Gpt2Model : std::conditional_t<
                       std::is_same_v<Rate, Ratio<0>>, detail::gpt2_layers<Words, Channels, HeadCount, Depth>,
                       detail::gpt2_layers<Words, Channels, HeadCount, Depth, Dropout<Rate>>>::template model<Length> {
  static constexpr std::size_t gpt2_depth = Depth;
  static constexpr std::size_t parameter_count =
      (Words + Length) * Channels + Depth * (12 * Channels + 13) * Channels + 2 * Channels;
};

/// The published sizes. Parameters are counted once, the tied table too.
struct Gpt2Small : Gpt2Model<50257, 1024, 768, 12, 12> {};
struct Gpt2Medium : Gpt2Model<50257, 1024, 1024, 16, 24> {};
struct Gpt2Large : Gpt2Model<50257, 1024, 1280, 20, 36> {};
struct Gpt2Xl : Gpt2Model<50257, 1024, 1600, 25, 48> {};
static_assert(Gpt2Small::parameter_count == 124'439'808 && Gpt2Medium::parameter_count == 354'823'168 &&
              Gpt2Large::parameter_count == 774'030'080 && Gpt2Xl::parameter_count == 1'557'611'200);

namespace hugging_face {

namespace detail {

/// GPT-2's own names. Products are stored as (in,out) there. Older files have attention masks: constants, not weights.
template <class Network>
inline constexpr auto gpt2_names = [] {
  constexpr std::size_t depth = [] {
    if constexpr (rule::model_is_gpt2<Network>::holds) return Network::gpt2_depth;
    else return std::size_t{0};
  }();
  return names::list(names::inside_optional(
      "transformer.", names::layer("wpe"),
      names::repeat(depth, "h.{}.", names::layer("ln_1"), names::layer("attn.c_attn").transposed(),
                    names::layer("attn.c_proj").transposed(), names::layer("ln_2"),
                    names::layer("mlp.c_fc").transposed(), names::layer("mlp.c_proj").transposed(),
                    names::ignore("attn.bias"), names::ignore("attn.masked_bias")),
      names::layer("ln_f"), names::tensor("wte.weight").also("lm_head.weight")));
}();

}  // namespace detail

/// Reads GPT-2 weights as the transformers library writes them into a Trainer or an Inference of the same shape.
///
///   names      wte.weight, h.0.attn.c_attn.weight, ..., with or without "transformer." in front
///   ignored    the masks attn.bias and attn.masked_bias; lm_head.weight, which must equal wte.weight
///
/// It calls names::load (models/names.hpp), which has element types and failures.
template <class Owner>
void load(Owner& owner, const std::string& path) {
  using Network = typename Owner::Recipe::Network;
  static_assert(sizeof(typename rule::model_is_gpt2<Network>::must_hold));
  if constexpr (rule::model_is_gpt2<Network>::holds) names::load<detail::gpt2_names<Network>>(owner, path);
}
template <regimen::detail::Refused Owner>
void load(Owner&, const std::string&) {}

/// Writes the weights of a Trainer or an Inference as the transformers library reads them. It calls names::save
/// (models/names.hpp).
template <class Owner>
void save(Owner& owner, const std::string& path) {
  using Network = typename Owner::Recipe::Network;
  static_assert(sizeof(typename rule::model_is_gpt2<Network>::must_hold));
  if constexpr (rule::model_is_gpt2<Network>::holds) names::save<detail::gpt2_names<Network>>(owner, path);
}
template <regimen::detail::Refused Owner>
void save(Owner&, const std::string&) {}

}  // namespace hugging_face
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
