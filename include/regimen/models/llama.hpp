// regimen/models/llama.hpp — Llama 3, Qwen 2.5 and Qwen 3: the published sizes, and the names of Hugging Face.
#pragma once

#include <regimen/core/ratio.hpp>
#include <regimen/layer/activation.hpp>
#include <regimen/layer/embedding.hpp>
#include <regimen/layer/join.hpp>
#include <regimen/layer/linear.hpp>
#include <regimen/layer/model.hpp>
#include <regimen/layer/norm.hpp>
#include <regimen/layer/self_attention.hpp>
#include <regimen/models/names.hpp>
#include <regimen/models/rules.hpp>

#include <cstddef>
#include <type_traits>

namespace regimen {

/// The output layer of a LlamaModel. TiedHead: it shares the token table. OwnHead: it has a matrix of its own.
struct TiedHead final {};
struct OwnHead final {};

namespace detail {

template <std::size_t Words, std::size_t Length, std::size_t Channels, std::size_t Hidden, std::size_t Depth,
          class Attention, class Head, class Norm>
struct llama_layers {
  using Table = Embedding<Vocabulary<Words>, Channels>;
  using Gate = Fork<Multiply, Sequential<Linear<Hidden, NoBias>, Silu>, Linear<Hidden, NoBias>>;
  using Block = Sequential<Residual<Norm, Attention>, Residual<Norm, Gate, Linear<Channels, NoBias>>>;
  using Output = std::conditional_t<std::is_same_v<Head, TiedHead>, TiedLinear<Table>, Linear<Words, NoBias>>;
  using model = Model<Input<Tokens<Length>>, Table, Repeat<Depth, Block>, Norm, Output>;
};

/// The members of the attention that counts and names read. If the layer is no attention, which a rule refuses: the
/// members of some attention.
template <class Attention>
struct llama_attention {
  static constexpr bool holds = false;
  using type = SelfAttention<Heads<1>>;
};
template <class... Options>
struct llama_attention<in_order::SelfAttention<Options...>> {
  static constexpr bool holds = true;
  using type = in_order::SelfAttention<Options...>;
};

}  // namespace detail

/// Llama: rotary positions, RMS norms before attention and before the gated network, SiLU, no biases except in
/// attention.
///
///   Words, Length, Channels, Hidden, Depth   vocabulary, positions, width, width inside of the gate, blocks
///   Attention   SelfAttention<Heads<N>, Causal, Rotary<...>, ...>
///   Head        TiedHead or OwnHead
///   Norm        RmsNorm, whose epsilon is 1e-5, or RmsNormWith<Epsilon<...>>
///
///   struct Mine : LlamaModel<32000, 512, 288, 768, 6,
///                            SelfAttention<Heads<6>, Causal, Rotary<>, WithoutBias>, TiedHead> {};
///
/// source   Touvron et al. 2023; Llama Team 2024, "The Llama 3 Herd of Models", table 3
template <std::size_t Words, std::size_t Length, std::size_t Channels, std::size_t Hidden, std::size_t Depth,
          class Attention, class Head = TiedHead, class Norm = RmsNorm>
struct LlamaModel : detail::llama_layers<Words, Length, Channels, Hidden, Depth, Attention, Head, Norm>::model {
  static_assert(std::is_same_v<Head, TiedHead> || std::is_same_v<Head, OwnHead>,
                "regimen: the head of a LlamaModel is TiedHead or OwnHead; write one of them");
  static_assert(
      sizeof(typename rule::llama_attends_to_itself<Attention, detail::llama_attention<Attention>::holds>::must_hold));

 private:
  using Layout = typename detail::llama_attention<Attention>::type::Layout;
  using Chosen = typename detail::llama_attention<Attention>::type::Chosen;
  static constexpr std::size_t width = Layout::width_in(Channels), all = Layout::all * width;
  static constexpr bool has_bias = Chosen::bias != detail::BiasIs::absent;
  static constexpr bool projects_with_bias = detail::projection_bias<Chosen> != detail::BiasIs::absent;

 public:
  static constexpr std::size_t llama_depth = Depth, heads = Layout::heads, key_heads = Layout::key_heads;
  static constexpr bool has_head_norms = !std::is_void_v<typename Chosen::norm>,
                        has_own_head = std::is_same_v<Head, OwnHead>;
  static constexpr std::size_t parameter_count =
      Words * Channels * (has_own_head ? 2 : 1) + Channels +
      Depth * (2 * Channels + all * Channels + (has_bias ? all : 0) + Channels * Layout::heads * width +
               (projects_with_bias ? Channels : 0) + (has_head_norms ? 2 * width : 0) + 3 * Hidden * Channels);
};

/// The published sizes, with as many positions as a program needs, since positions have no weights. Parameters are
/// counted once, the tied table too.
///
/// source   Llama Team 2024, and the model cards of Llama 3.1 and 3.2; Qwen Team 2024, "Qwen2.5 Technical Report";
///          Qwen Team 2025, "Qwen3 Technical Report"
template <std::size_t Length = 2048>
struct Llama3_8B
    : LlamaModel<128256, Length, 4096, 14336, 32,
                 SelfAttention<Heads<32>, KeyHeads<8>, Causal, Rotary<Ratio<500'000>>, WithoutBias>, OwnHead> {};
template <std::size_t Length = 2048>
struct Llama3_1_8B
    : LlamaModel<128256, Length, 4096, 14336, 32,
                 SelfAttention<Heads<32>, KeyHeads<8>, Causal, Rotary<Ratio<500'000>, Llama3Scaling<>>, WithoutBias>,
                 OwnHead> {};
template <std::size_t Length = 2048>
struct Llama3_2_3B : LlamaModel<128256, Length, 3072, 8192, 28,
                                SelfAttention<Heads<24>, KeyHeads<8>, Causal,
                                              Rotary<Ratio<500'000>, Llama3Scaling<Ratio<32>>>, WithoutBias>> {};
template <std::size_t Length = 2048>
struct Llama3_2_1B : LlamaModel<128256, Length, 2048, 8192, 16,
                                SelfAttention<Heads<32>, KeyHeads<8>, Causal,
                                              Rotary<Ratio<500'000>, Llama3Scaling<Ratio<32>>>, WithoutBias>> {};
/// Biases of q, k and v; epsilon 1e-6.
template <std::size_t Length = 2048>
struct Qwen2_5_0_5B
    : LlamaModel<151936, Length, 896, 4864, 24,
                 SelfAttention<Heads<14>, KeyHeads<2>, Causal, Rotary<Ratio<1'000'000>>, WithoutProjectionBias>,
                 TiedHead, RmsNormWith<Epsilon<Ratio<1, 1'000'000>>>> {};
/// Heads of 128 channels, whose q and k are normalised; epsilon 1e-6.
template <std::size_t Length = 2048>
struct Qwen3_0_6B : LlamaModel<151936, Length, 1024, 3072, 28,
                               SelfAttention<Heads<16>, KeyHeads<8>, HeadWidth<128>, Causal, QueryKeyNorm<>,
                                             Rotary<Ratio<1'000'000>>, WithoutBias>,
                               TiedHead, RmsNormWith<Epsilon<Ratio<1, 1'000'000>>>> {};
static_assert(Llama3_8B<>::parameter_count == 8'030'261'248 && Llama3_1_8B<>::parameter_count == 8'030'261'248 &&
              Llama3_2_3B<>::parameter_count == 3'212'749'824 && Llama3_2_1B<>::parameter_count == 1'235'814'400 &&
              Qwen2_5_0_5B<>::parameter_count == 494'032'768 && Qwen3_0_6B<>::parameter_count == 596'049'920);

namespace hugging_face {

/// The names of LlamaForCausalLM, Qwen2ForCausalLM and Qwen3ForCausalLM, with or without "model." in front, for a
/// LlamaModel:
///
///   struct Mine : Llama3_2_1B<1024> {};
///   names::load<hugging_face::llama_names<Mine>>(trainer, "Llama-3.2-1B");      a folder, a file, or an index
///   names::save<hugging_face::llama_names<Mine>>(trainer, "mine/model.safetensors", {.largest_file = 5'000'000'000});
///
/// Their q_proj, k_proj and v_proj are rows of qkv. Rotary turns the same pairs, (i, i + D/2), so the rows of a head
/// have the same order here; files of programs that turn neighbouring pairs have another order. A tied lm_head.weight
/// may be there, as a copy. The frequencies of Rotary that old files hold, rotary_emb.inv_freq, are ignored: the model
/// has its own.
template <class Network>
inline constexpr auto llama_names = [] {
  if constexpr (!requires { Network::llama_depth; }) {
    return names::list();  // which names_fit_model refuses
  } else {
    const auto qkv =
        names::joined(names::layer("q_proj").shares(Network::heads), names::layer("k_proj").shares(Network::key_heads),
                      names::layer("v_proj").shares(Network::key_heads));
    const auto attention = [&] {
      if constexpr (Network::has_head_norms)
        return names::list(qkv, names::tensor("q_norm.weight"), names::tensor("k_norm.weight"), names::layer("o_proj"));
      else return names::list(qkv, names::layer("o_proj"));
    }();
    const auto blocks = names::repeat(Network::llama_depth, "layers.{}.", names::layer("input_layernorm"),
                                      names::inside("self_attn.", attention), names::layer("post_attention_layernorm"),
                                      names::layer("mlp.gate_proj"), names::layer("mlp.up_proj"),
                                      names::layer("mlp.down_proj"), names::ignore("self_attn.rotary_emb.inv_freq"));
    const auto table = names::tensor("embed_tokens.weight");
    const auto norm = names::list(names::layer("norm"), names::ignore("rotary_emb.inv_freq"));
    if constexpr (Network::has_own_head)
      return names::list(names::inside_optional("model.", table, blocks, norm), names::layer("lm_head"));
    else return names::list(names::inside_optional("model.", blocks, norm, table.also("lm_head.weight")));
  }
}();

}  // namespace hugging_face
}  // namespace regimen
// SPDX-License-Identifier: Apache-2.0
