// regimen/models/t5.hpp — T5 and T5 1.1, texts from texts: published sizes, and weights in the naming of Hugging Face.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/activation.hpp>
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
#include <regimen/layer/times_root_width.hpp>
#include <regimen/models/names.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace regimen {

namespace detail {

/// The encoder's output, and the sets that several places share, by their names.
template <std::size_t Source, std::size_t Width>
struct T5Encoded : NamedValue<Shape<Source, Width>> {};
struct T5Words;
template <std::size_t Source>
struct T5Source : NamedLength<Source> {};
struct T5EncoderDistances;
struct T5DecoderDistances;

template <class Sizes, std::size_t Source, std::size_t Target>
struct t5_layers {
  static_assert(Sizes::padding < static_cast<std::int64_t>(Sizes::words),
                "regimen: padding is one of the words, or -1");
  static constexpr std::size_t width = Sizes::width, inner = Sizes::inner;
  static constexpr bool drops = Sizes::Rate::value > 0;
  using Drop = std::conditional_t<drops, Dropout<typename Sizes::Rate>, Sequential<>>;
  using Norm = RmsNormWith<Epsilon<Ratio<1, 1'000'000>>>;
  using Encoded = T5Encoded<Source, width>;
  using Table = Embedding<Vocabulary<Sizes::words>, width>;
  using Begin = Sequential<Shared<T5Words, Table>, Drop>;

  using Count = Heads<Sizes::heads>;
  using Each = HeadWidth<Sizes::head_width>;
  template <class... Options>
  using Among = std::conditional_t<drops, SelfAttention<Count, Each, WithoutScale, WithoutBias, Options..., Drop>,
                                   SelfAttention<Count, Each, WithoutScale, WithoutBias, Options...>>;
  template <class Set>
  using Distances = RelativeBias<Sizes::buckets, Sizes::most_distance, Set>;
  using Across = std::conditional_t<drops, CrossAttention<Encoded, Count, Each, WithoutScale, WithoutBias, Drop>,
                                    CrossAttention<Encoded, Count, Each, WithoutScale, WithoutBias>>;
  using In = Linear<inner, NoBias>;
  using Unit = std::conditional_t<Sizes::is_v1_1, Fork<Multiply, Sequential<In, GeluTanh>, In>, Sequential<In, Relu>>;

  template <class... Layers>
  using Step = Residual<Norm, Layers..., Drop>;
  using Hidden = Step<Unit, Drop, Linear<width, NoBias>>;
  template <class Attention>
  using Within = within_source<Sizes::padding, T5Source<Source>, Attention>;
  using EncoderBlock = Sequential<Step<Within<Among<Distances<T5EncoderDistances>>>>, Hidden>;
  using DecoderBlock = Sequential<Step<Among<Distances<T5DecoderDistances>, Causal>>, Step<Within<Across>>, Hidden>;
  using Read = source_part<Sizes::padding, T5Source<Source>>;
  using Both =
      Fork<Last, Sequential<Read, Begin, Repeat<Sizes::encoder_depth, EncoderBlock>, Norm, Drop, Keep<Encoded>>,
           Sequential<Part<1>, Begin, Repeat<Sizes::decoder_depth, DecoderBlock>, Norm, Drop>>;
  using Texts = Input<Bundle<Tokens<Source>, Tokens<Target>>>;
  using model = std::conditional_t<Sizes::is_v1_1, Model<Texts, Both, Linear<Sizes::words, NoBias>>,
                                   Model<Texts, Both, OverRootWidth, TiedLinear<Table>>>;
};

}  // namespace detail

/// The form of T5, and the sizes of t5-small.
struct T5Sizes {
  static constexpr std::size_t words = 32'128, width = 512, heads = 8, head_width = 64, inner = 2048, encoder_depth = 6,
                               decoder_depth = 6, buckets = 32, most_distance = 128;
  static constexpr bool is_v1_1 = false;
  static constexpr std::int32_t padding = 0;
  using Rate = Ratio<0>;  // it was trained with Ratio<1, 10>
};

/// T5: reads a source and the beginning of a target, and predicts the next token at every position of the target. RMS
/// norms, of epsilon 1e-6, come before each part of a block and at the end of both stacks; no product has a bias.
/// Positions have an effect only through their distances: a table gives a number for each distance, which is added to
/// the scores. All blocks of the encoder share one table, all blocks of the decoder another. One table is the embedding
/// of both texts.
///
///   Sizes            T5Sizes, or a type that inherits from it and has other values:
///     words, width, heads, head_width, inner, encoder_depth, decoder_depth    each a std::size_t
///     buckets, most_distance   of the tables of distances: see RelativeBias
///     is_v1_1        false: ReLU, and logits by the same table, of the decoder's output divided by √width
///                    true, as in T5 1.1, Flan-T5 and mT5: a gate with GELU (tanh), and an output layer of its own
///     padding        a std::int32_t: the token after the end of a shorter source, or −1
///     Rate           a Ratio: dropout of the embedded texts, of probabilities, inside and at the end of each branch,
///                    and of the output of both stacks
///   Source, Target   positions of the two texts, each at least 1
///
///   struct Mine final : T5Sizes { static constexpr std::size_t words = 8000; };
///   struct Reader : T5Model<Mine, 64, 32> {};
///   Trainer<Reader, Batch<32>> trainer;          // samples of Bundle<Tokens<64>, Tokens<32>>, targets (32)
///
/// Input t of the target is its token t − 1; input 0 is the token that begins a target, in T5 the padding token, 0. A
/// target that is shorter than Target has ignore_index after its end.
///
/// padding   nothing attends to the padding at the end of a source, as with Hugging Face's attention mask; with a
///           padding of −1 every token counts, as with a mask of ones
/// initial   values are the initial values of the layers. In T5 words are normal(0, 1) and queries are smaller
/// generate  (model, source, prompt, count) reads the source once; the prompt is the token that begins a target
/// cost      the encoded source and its gradient stay in memory from the encoder's forward to its backward
/// source    Raffel et al. 2020, section 2.1; v1.1: Shazeer 2020, "GLU Variants Improve Transformer"; both as
///           T5ForConditionalGeneration of Hugging Face computes them
template <class Sizes, std::size_t Source, std::size_t Target = Source>
struct T5Model : detail::t5_layers<Sizes, Source, Target>::model {
  using t5_sizes = Sizes;
  /// Parameters are counted once, the shared tables too.
  static constexpr std::size_t parameter_count = [] {
    const std::size_t c = Sizes::width, attention = 4 * c * Sizes::heads * Sizes::head_width + c,
                      hidden = (Sizes::is_v1_1 ? 3 : 2) * c * Sizes::inner + c;
    return Sizes::words * c * (Sizes::is_v1_1 ? 2 : 1) + 2 * Sizes::buckets * Sizes::heads + 2 * c +
           Sizes::encoder_depth * (attention + hidden) + Sizes::decoder_depth * (2 * attention + hidden);
  }();
};

/// The published sizes, with as many positions as a program needs, since positions have no weights.
///
/// source   the configurations of t5-small, t5-base, t5-large, and of google/t5-v1_1-small and -base; Flan-T5 has the
///          sizes of the latter two
struct T5BaseSizes : T5Sizes {
  static constexpr std::size_t width = 768, heads = 12, inner = 3072, encoder_depth = 12, decoder_depth = 12;
};
struct T5LargeSizes : T5Sizes {
  static constexpr std::size_t width = 1024, heads = 16, inner = 4096, encoder_depth = 24, decoder_depth = 24;
};
struct T5SmallV1_1Sizes : T5Sizes {
  static constexpr std::size_t heads = 6, inner = 1024, encoder_depth = 8, decoder_depth = 8;
  static constexpr bool is_v1_1 = true;
};
struct T5BaseV1_1Sizes : T5BaseSizes {
  static constexpr std::size_t inner = 2048;
  static constexpr bool is_v1_1 = true;
};
template <std::size_t Source = 512, std::size_t Target = Source>
struct T5Small : T5Model<T5Sizes, Source, Target> {};
template <std::size_t Source = 512, std::size_t Target = Source>
struct T5Base : T5Model<T5BaseSizes, Source, Target> {};
template <std::size_t Source = 512, std::size_t Target = Source>
struct T5Large : T5Model<T5LargeSizes, Source, Target> {};
template <std::size_t Source = 512, std::size_t Target = Source>
struct T5SmallV1_1 : T5Model<T5SmallV1_1Sizes, Source, Target> {};
template <std::size_t Source = 512, std::size_t Target = Source>
struct T5BaseV1_1 : T5Model<T5BaseV1_1Sizes, Source, Target> {};
static_assert(T5Small<>::parameter_count == 60'506'624 && T5Base<>::parameter_count == 222'903'552 &&
              T5Large<>::parameter_count == 737'668'096 && T5SmallV1_1<>::parameter_count == 76'961'152 &&
              T5BaseV1_1<>::parameter_count == 247'577'856);

namespace hugging_face {

/// The names of T5ForConditionalGeneration, for a T5Model:
///
///   struct Mine : T5Small<128> {};
///   names::load<hugging_face::t5_names<Mine>>(trainer, "model.safetensors");
///
/// copies    if a file has embed_tokens of encoder and decoder, or the lm_head of T5 1.0, they must equal
///           shared.weight; names::save does not write them, like transformers
/// ignored   the table of distances between source and target, which old files have and no program reads
template <class Network>
inline constexpr auto t5_names = [] {
  if constexpr (!requires { typename Network::t5_sizes; }) {
    return names::list();  // which names_fit_model refuses
  } else {
    using Sizes = typename Network::t5_sizes;
    const auto self = names::list(
        names::layer("layer.0.layer_norm"),
        names::inside("layer.0.SelfAttention.", names::joined(names::layer("q"), names::layer("k"), names::layer("v")),
                      names::layer("o")));
    const auto across =
        names::list(names::layer("layer.1.layer_norm"),
                    names::inside("layer.1.EncDecAttention.", names::layer("q"),
                                  names::joined(names::layer("k"), names::layer("v")), names::layer("o")));
    const auto unit = [] {
      if constexpr (Sizes::is_v1_1) return names::list(names::layer("wi_0"), names::layer("wi_1"), names::layer("wo"));
      else return names::list(names::layer("wi"), names::layer("wo"));
    }();
    const auto hidden = [&](const char* prefix) {
      return names::inside(prefix, names::layer("layer_norm"), names::inside("DenseReluDense.", unit));
    };
    const auto stacks =
        names::list(names::repeat(Sizes::encoder_depth, "encoder.block.{}.", self, hidden("layer.1.")),
                    names::layer("encoder.final_layer_norm"),
                    names::repeat(Sizes::decoder_depth, "decoder.block.{}.", self, across, hidden("layer.2.")),
                    names::layer("decoder.final_layer_norm"));
    const auto table =
        names::tensor("shared.weight").also("encoder.embed_tokens.weight").also("decoder.embed_tokens.weight");
    const auto distances =
        names::list(names::tensor("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"),
                    names::tensor("decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"),
                    names::ignore("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"));
    if constexpr (Sizes::is_v1_1) return names::list(stacks, names::layer("lm_head"), table, distances);
    else return names::list(stacks, table.also("lm_head.weight"), distances);
  }
}();

}  // namespace hugging_face
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
