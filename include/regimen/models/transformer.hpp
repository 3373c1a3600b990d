// regimen/models/transformer.hpp — the encoder–decoder Transformer, in the form of Marian: a translator.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/add_bias.hpp>
#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/dropout.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/named.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/padding.hpp>
#include <regimen/layer/part.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/layer/sinusoidal_positions.hpp>
#include <regimen/layer/times_root_width.hpp>
#include <regimen/models/names.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen {

namespace detail {

/// The encoder's output, and the set of the one table, by their names.
template <std::size_t Source, std::size_t Width>
struct EncodedText : NamedValue<Shape<Source, Width>> {};
struct TransformerWords;
template <std::size_t Source>
struct TransformerSource : NamedLength<Source> {};

template <class Sizes, std::size_t Source, std::size_t Target>
struct transformer_layers {
  static_assert(Sizes::padding < static_cast<std::int64_t>(Sizes::words),
                "regimen: padding is one of the words, or -1");
  static constexpr std::size_t width = Sizes::width;
  using Drop = std::conditional_t<Sizes::Rate::value == 0, Sequential<>, Dropout<typename Sizes::Rate>>;
  using Encoded = EncodedText<Source, width>;
  using Table = std::conditional_t<(Sizes::padding < 0), Embedding<Vocabulary<Sizes::words>, width>,
                                   Embedding<Vocabulary<Sizes::words>, width, PaddedWith<Sizes::padding>>>;
  using Begin = Sequential<Shared<TransformerWords, Table>, TimesRootWidth, SinusoidalPositionsWith<SinesFirst>, Drop>;
  template <class... Layers>
  using Step = Sequential<Residual<Layers..., Drop>, LayerNorm>;
  using Hidden = Step<Linear<Sizes::inner>, typename Sizes::Activation, Linear<width>>;
  template <class Attention>
  using Within = within_source<Sizes::padding, TransformerSource<Source>, Attention>;
  using EncoderBlock = Sequential<Step<Within<SelfAttention<Heads<Sizes::heads>>>>, Hidden>;
  using DecoderBlock = Sequential<Step<SelfAttention<Heads<Sizes::heads>, Causal>>,
                                  Step<Within<CrossAttention<Encoded, Heads<Sizes::heads>>>>, Hidden>;
  using Read = source_part<Sizes::padding, TransformerSource<Source>>;
  using model = Model<Input<Bundle<Tokens<Source>, Tokens<Target>>>,
                      Fork<Last, Sequential<Read, Begin, Repeat<Sizes::encoder_depth, EncoderBlock>, Keep<Encoded>>,
                           Sequential<Part<1>, Begin, Repeat<Sizes::decoder_depth, DecoderBlock>>>,
                      TiedLinear<Table>, AddBias>;
};

}  // namespace detail

/// A Transformer that reads two texts, the source and the beginning of the target, and predicts the next token at every
/// position of the target. The norms come after the sums; embeddings are multiplied by √width; positions are sines,
/// then cosines. One table is the embedding of both texts and the output layer; the logits have a bias.
///
///   Sizes            words, width, heads, inner, encoder_depth, decoder_depth, each a std::size_t; Activation, a
///                    layer; Rate, a Ratio: dropout of the embedded texts and at the end of each branch; padding, a
///                    std::int32_t: the token after the end of a shorter source, or −1
///   Source, Target   positions of the two texts, each at least 1
///
///   struct Mine final : OpusMtOf<8000> {};
///   struct Translator : TransformerModel<Mine, 64, 64> {};
///   Trainer<Translator, Batch<32>> trainer;      // samples of Bundle<Tokens<64>, Tokens<64>>, targets (64)
///
/// Input t of the target is its token t − 1; input 0 is the token that begins a target, in Marian the padding token. A
/// target that is shorter than Target has ignore_index after its end.
///
/// padding   nothing attends to the padding at the end of a source, as with Hugging Face's attention mask, and the
///           padding token's row of the table gets only the output layer's gradient, as with padding_idx there; with a
///           padding of −1 every token counts, as with a mask of ones and without padding_idx
/// generate  (model, source, prompt, count) reads the source once; the prompt is the token that begins a target.
///           Marian's models are not trained to leave the padding token out: give Sampling {.vocabulary = 58'100}, all
///           words except this token
/// cost      Words · width parameters once; the encoded source and its gradient stay in memory from the encoder's
///           forward to its backward
/// source    Vaswani et al. 2017; Junczys-Dowmunt et al. 2018, "Marian", as MarianMTModel of Hugging Face computes it
template <class Sizes, std::size_t Source, std::size_t Target = Source>
struct TransformerModel : detail::transformer_layers<Sizes, Source, Target>::model {
  using transformer_sizes = Sizes;
  /// Parameters are counted once, the shared table too.
  static constexpr std::size_t parameter_count = [] {
    const std::size_t c = Sizes::width, attention = 4 * (c + 1) * c + 2 * c,
                      hidden = (2 * c + 1) * Sizes::inner + c + 2 * c;
    return Sizes::words * (c + 1) + Sizes::encoder_depth * (attention + hidden) +
           Sizes::decoder_depth * (2 * attention + hidden);
  }();
};

/// The sizes of most opus-mt models. Their last word is the padding token.
template <std::size_t Words>
struct OpusMtOf {
  static constexpr std::size_t words = Words, width = 512, heads = 8, inner = 2048, encoder_depth = 6,
                               decoder_depth = 6;
  static constexpr std::int32_t padding = static_cast<std::int32_t>(Words) - 1;
  using Activation = Silu;
  using Rate = Ratio<0>;  // it was trained with Ratio<1, 10>
};
/// Helsinki-NLP/opus-mt-en-de.
struct OpusMt : OpusMtOf<58'101> {};
struct OpusMtEnDe : TransformerModel<OpusMt, 512> {};
// MarianMTModel counts 74'410'496: also 2 · 512 · 512 sines, and not the bias of the logits.
static_assert(OpusMtEnDe::parameter_count == 74'410'496 - 2 * 512 * 512 + 58'101);

namespace hugging_face {

/// The names of MarianMTModel: names::load<hugging_face::marian_names<OpusMtEnDe>>(trainer, "model.safetensors").
///
///   ignored   embed_positions, which are sines
///   copies    if a file has embed_tokens of encoder and decoder, or lm_head, they must equal model.shared.weight;
///             names::save does not write them, like transformers
///   bias      here final_logits_bias trains. In MarianMTModel it is a buffer, which fine-tuning does not change: use
///             Freeze<AddBias> for this
template <class Network>
inline constexpr auto marian_names = [] {
  if constexpr (!requires { typename Network::transformer_sizes; }) {
    return names::list();  // which names_fit_model refuses
  } else {
    using Sizes = typename Network::transformer_sizes;
    const auto heads = [](const char* q, const char* k, const char* v) {
      return names::joined(names::layer(q), names::layer(k), names::layer(v));
    };
    const auto hidden = names::list(names::layer("fc1"), names::layer("fc2"), names::layer("final_layer_norm"));
    const auto self = names::list(heads("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
                                  names::layer("self_attn.out_proj"), names::layer("self_attn_layer_norm"));
    const auto across =
        names::list(names::layer("encoder_attn.q_proj"),
                    names::joined(names::layer("encoder_attn.k_proj"), names::layer("encoder_attn.v_proj")),
                    names::layer("encoder_attn.out_proj"), names::layer("encoder_attn_layer_norm"));
    return names::list(names::repeat(Sizes::encoder_depth, "model.encoder.layers.{}.", self, hidden),
                       names::repeat(Sizes::decoder_depth, "model.decoder.layers.{}.", self, across, hidden),
                       names::tensor("final_logits_bias").viewed(1, 0),
                       names::tensor("model.shared.weight")
                           .also("model.encoder.embed_tokens.weight")
                           .also("model.decoder.embed_tokens.weight")
                           .also("lm_head.weight"),
                       names::ignore("model.*coder.embed_positions.weight"));
  }
}();

}  // namespace hugging_face
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
