// regimen/trainers/generate.hpp — generates text with a model of tokens, one token at a time; from another text, too.
#pragma once

#include <regimen/core/error.hpp>
#include <regimen/core/misnamed.hpp>
#include <regimen/core/refused.hpp>
#include <regimen/core/rules.hpp>
#include <regimen/programs/check_ids.hpp>
#include <regimen/rule/generate.hpp>
#include <regimen/rule/inference.hpp>
#include <regimen/saves/trainer_state.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace regimen {

/// How to sample the next token from logits z.
///
///   temperature   token i with probability ∝ exp(zᵢ / temperature); 0: the largest logit, without randomness
///   top_k         samples from the k largest logits only; of equal ones the lower ids; 0: all
///   seed          the same seed, prompt and weights give the same tokens
///   vocabulary    samples only ids below it, for a model with more ids than its text has; 0: no limit
///   end           the token that ends a text; -1: there is none
///
/// As in Options, some members have names of other libraries.
struct Sampling final {
  double temperature = 1;
  std::size_t top_k = 0;
  std::uint64_t seed = 1;
  std::size_t vocabulary = 0;
  std::int32_t end = -1;
  [[no_unique_address]] detail::Misnamed<misnamed::sampling> max_new_tokens{}, max_length{}, top_p{}, do_sample{},
      num_beams{}, repetition_penalty{}, eos_token_id{};
};

/// Samples a token from logits; `position` numbers the draws of one text.   logits (V)
std::int32_t draw_token(std::span<const float> logits, const Sampling& sampling, std::uint64_t position);
std::int32_t draw_token(std::span<const double> logits, const Sampling& sampling, std::uint64_t position);

namespace detail {

/// Reads a text position by position, as Inference does, after a source if Texts are two.
template <class Model, class... Texts>
concept Decodes = requires(Model& model, Texts... texts) {
  { model.start(texts...)[0] } -> std::convertible_to<double>;
  { model.next(std::int32_t{}) } -> std::same_as<decltype(model.start(texts...))>;
};

std::size_t tokens_in_memory();

/// Refuses a prompt that no model can continue.
void check_prompt(std::span<const std::int32_t> prompt, std::size_t vocabulary, const Sampling& sampling);

/// Appends tokens of draw, up to `count` or to the one that ends the text, and returns only these.
inline std::vector<std::int32_t> extend(std::vector<std::int32_t>& text, std::size_t count, std::int32_t end,
                                        auto&& draw) {
  const auto before = static_cast<std::ptrdiff_t>(text.size());
  for (std::size_t i = 0; i < count; ++i) {
    text.push_back(draw(i));
    if (text.back() == end) break;
  }
  return {text.begin() + before, text.end()};
}

template <PredictsTokens Model>
std::vector<std::int32_t> draw_tokens(Model& model, std::span<const std::int32_t> prompt, std::size_t count,
                                      const Sampling& sampling) {
  [[maybe_unused]] const auto held = saves::Inside::holding(model, "generate");
  constexpr std::size_t length = Model::input_size, vocabulary = Model::output_size / length;
  check_prompt(prompt, vocabulary, sampling);
  const std::size_t most = tokens_in_memory();
  if (prompt.size() > most || count > most - prompt.size())
    throw Error("generate, count",
                "a text that fits this machine's memory, which holds " + std::to_string(most) + " tokens",
                std::to_string(count) + " tokens after " + std::to_string(prompt.size()),
                "write a long text in parts: the end of one is the next prompt");

  std::vector<std::int32_t> text(prompt.begin(), prompt.end()), window(length);
  const auto draw = [&](std::size_t i) {
    if constexpr (Decodes<Model, std::span<const std::int32_t>>) {
      if (text.size() <= length) {
        const auto logits = i == 0 ? model.start(std::span<const std::int32_t>(text)) : model.next(text.back());
        return draw_token(std::span(logits), sampling, i);
      }
    }
    const std::size_t seen = (std::min)(text.size(), length);
    std::copy(text.end() - static_cast<std::ptrdiff_t>(seen), text.end(), window.begin());
    std::fill(window.begin() + static_cast<std::ptrdiff_t>(seen), window.end(), 0);
    const auto logits = model.predict(std::span<const std::int32_t>(window));  // (T,V)
    return draw_token(std::span(logits).subspan((seen - 1) * vocabulary, vocabulary), sampling, i);
  };
  return extend(text, count, sampling.end, draw);
}

/// Appends tokens to a target, with a source.
template <PredictsTarget Model>
std::vector<std::int32_t> draw_tokens(Model& model, std::span<const std::int32_t> source,
                                      std::span<const std::int32_t> prompt, std::size_t count,
                                      const Sampling& sampling) {
  using Texts = typename Model::Input;
  [[maybe_unused]] const auto held = saves::Inside::holding(model, "generate");
  constexpr std::size_t length = Model::output_rows, vocabulary = Model::output_size / length;
  check_prompt(prompt, vocabulary, sampling);
  if (prompt.size() > length || count > length + 1 - prompt.size())
    throw Error("generate, count", "a target within the model's " + std::to_string(length) + " positions",
                std::to_string(count) + " tokens after " + std::to_string(prompt.size()),
                "generate fewer, or give the model a longer target");
  std::vector<Texts> texts(1);
  auto& read = texts[0].template get<0>();
  auto& window = texts[0].template get<1>();
  programs::check_source(source.size(), read.size(), rule::texts_of<Model>::padding, "generate");
  std::fill(std::copy(source.begin(), source.end(), read.begin()), read.end(), rule::texts_of<Model>::padding);
  std::vector<std::int32_t> text(prompt.begin(), prompt.end());
  const auto draw = [&](std::size_t i) {
    if constexpr (Decodes<Model, std::span<const std::int32_t>, std::span<const std::int32_t>>) {
      const auto logits = i == 0 ? model.start(source, std::span<const std::int32_t>(text)) : model.next(text.back());
      return draw_token(std::span(logits), sampling, i);
    } else {
      std::copy(text.begin(), text.end(), window.begin());
      const auto logits = model.predict(std::span<const Texts>(texts));  // (T,V)
      return draw_token(std::span(logits).subspan((text.size() - 1) * vocabulary, vocabulary), sampling, i);
    }
  };
  return extend(text, count, sampling.end, draw);
}

}  // namespace detail

/// The tokens that follow `prompt`, without the prompt: `count` tokens, or fewer if sampling.end comes earlier.
///
/// The model reads the last T tokens. If there are fewer, zeros fill the rest of the window, so no position may attend
/// to later ones: **the model must be causal**.
///
/// An Inference whose model `decodes` has a cache of keys and values: until the window is full, a token costs one
/// position and attention to the earlier positions. Its logits agree with those of whole windows within rounding.
/// Beyond the window every token shifts all positions and invalidates the cache: a token then costs a whole window.
/// With a Trainer a token always costs a whole window.
///
/// refuses  a SelfAttention without Causal, and a CrossAttention, if the type of the model names its network
/// failure  Error for an empty prompt, a token outside the vocabulary, a temperature below 0, a text that the machine's
///          memory cannot hold, logits that are not finite
/// cost     per token: one position with the cache, otherwise one forward pass over T tokens
template <class Model>
std::vector<std::int32_t> generate(Model& model, std::span<const std::int32_t> prompt, std::size_t count,
                                   const Sampling& sampling = {}) {
  using Rule = rule::first_broken<rule::generate_takes_source<Model>, rule::generate_needs_logits<Model>,
                                  rule::generate_needs_causal<Model>, rule::generate_reads_one_text<Model>,
                                  rule::inference_is_not_const<Model>>;
  static_assert(sizeof(typename Rule::must_hold));
  if constexpr (Rule::holds) return detail::draw_tokens(model, prompt, count, sampling);
  else return {};
}

/// For a model of two texts, such as a translator: the tokens of the target that follow `prompt`, the beginning of the
/// target. The source has S tokens, or fewer if the encoder has a KeepLength and some attention is Within its name.
///
///   Inference<OpusMtEnDe, Batch<1>> model("opus-mt-en-de");
///   generate(model, source, prompt, 100, {.temperature = 0, .vocabulary = 58'100, .end = 0});
///                       // the prompt is one padding token: Marian's last token, which generate never draws
///
/// The network is Input<Bundle<Tokens<S>, Tokens<T>>>, Fork<Last, encoder, decoder> and further layers, as
/// TransformerModel and T5Model are. The encoder reads the whole Part<0>; the decoder is causal, and reads Part<1> and
/// the encoder's named value.
///
/// An Inference whose model `decodes` computes the encoder, and the keys and values of each CrossAttention, once for a
/// text, and keeps them next to the target's; then a token costs one position of the decoder. Otherwise a token costs a
/// whole pass over both texts.
///
/// refuses  another form of network, and a decoder that looks ahead
/// failure  Error as for one text; also for a source of another length, and for a target of more than T + 1 tokens (the
///          model does not read the last one)
template <class Model>
std::vector<std::int32_t> generate(Model& model, std::span<const std::int32_t> source,
                                   std::span<const std::int32_t> prompt, std::size_t count,
                                   const Sampling& sampling = {}) {
  using Rule = rule::first_broken<rule::generate_translates<Model>, rule::generate_needs_causal<Model>,
                                  rule::inference_is_not_const<Model>>;
  static_assert(sizeof(typename Rule::must_hold));
  if constexpr (Rule::holds) return detail::draw_tokens(model, source, prompt, count, sampling);
  else return {};
}

/// Refuses a prompt of characters.
template <class Model, class Prompt>
  requires std::is_convertible_v<const Prompt&, std::string_view>
std::vector<std::int32_t> generate(Model&, const Prompt&, std::size_t = 0, const Sampling& = {}) {
  if constexpr (!detail::Refused<Model>) static_assert(sizeof(typename rule::generate_reads_tokens<Prompt>::must_hold));
  return {};
}
template <class Prompt>
  requires std::is_convertible_v<const Prompt&, std::string_view>
std::vector<std::int32_t> generate(const Prompt&, std::size_t = 0, const Sampling& = {}) {
  static_assert(sizeof(typename rule::generate_reads_tokens<Prompt>::must_hold));
  return {};
}

template <detail::Refused Model>
std::vector<std::int32_t> generate(Model&, std::span<const std::int32_t>, std::size_t, const Sampling& = {}) {
  return {};
}
template <detail::Refused Model>
std::vector<std::int32_t> generate(Model&, std::span<const std::int32_t>, std::span<const std::int32_t>, std::size_t,
                                   const Sampling& = {}) {
  return {};
}

}  // namespace regimen

#if !REGIMEN_COMPILED
#include <regimen/trainers/generate.ipp>
#endif
// SPDX-License-Identifier: Apache-2.0
