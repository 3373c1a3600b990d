// Texts: generated, of unlike lengths, padded.
#include <regimen/regimen.hpp>

using namespace regimen;

// ---- option_has_name_sampling ---------------------------------------------------------------------------------------
// The number of tokens among the options, as transformers has it.
// expect: the number of tokens is an argument, and sampling has \.temperature, \.top_k and \.end; write generate\(model, prompt, 100, \{\.end = 0\}\)
namespace option_has_name_sampling {
struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<256>, 8>, Linear<256>> {};

void program() {
  Trainer<Gpt> trainer;
  const std::vector<std::int32_t> prompt{1, 2, 3};
#ifndef REGIMEN_MISUSE
  generate(trainer, prompt, 100, {.end = 0});
#else
  generate(trainer, prompt, 100, {.max_new_tokens = 100});
#endif
}
}  // namespace option_has_name_sampling

// ---- generate_reads_tokens_alone ------------------------------------------------------------------------------------
// Text out of nothing: generate needs a model, the tokens of a prompt, and how many shall follow.
// expect: generate reads tokens, not characters; write generate\(model, tokenizer\.encode\(text\), count\)
namespace generate_reads_tokens_alone {
struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<256>, 8>, Linear<256>> {};

void program() {
#ifndef REGIMEN_MISUSE
  Trainer<Gpt> trainer;
  generate(trainer, std::vector<std::int32_t>{'O', 'n', 'c', 'e'}, 100);
#else
  generate("Once");
#endif
}
}  // namespace generate_reads_tokens_alone

// ---- generate_needs_causal ------------------------------------------------------------------------------------------
// Text from a model whose attention sees later positions.
// expect: generate needs layers that read no later position; write Causal, CausalPadding, LayerNorm for GroupNorm
// names: Net
namespace generate_needs_causal {
#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<2>, Causal>;
#else
using Attend = SelfAttention<Heads<2>>;
#endif
struct Net : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Repeat<2, Residual<LayerNorm, Attend>>, Linear<16>> {};

void program() {
  Trainer<Net, Batch<4>> trainer;
  trainer.fit(Text{"input.txt"}, {.steps = 100});
  trainer.generate(std::vector<std::int32_t>{1, 2}, 20);
}
}  // namespace generate_needs_causal

// ---- generate_needs_causal_inference --------------------------------------------------------------------------------
// Text from an Inference whose attention sees later positions.
// expect: generate needs layers that read no later position; write Causal, CausalPadding, LayerNorm for GroupNorm
// names: Net
namespace generate_needs_causal_inference {
#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<2>, Causal>;
#else
using Attend = SelfAttention<Heads<2>>;
#endif
struct Net : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Repeat<2, Residual<LayerNorm, Attend>>, Linear<16>> {};

void program() {
  Inference<Net, Batch<1>> model("net.safetensors");
  generate(model, std::vector<std::int32_t>{1, 2}, 20);
}
}  // namespace generate_needs_causal_inference

// ---- generate_needs_logits ------------------------------------------------------------------------------------------
// Text from a classifier.
// expect: generate needs a model from Tokens<T> to \(T,V\), one row of logits for each token; call predict
// names: Classifier
namespace generate_needs_logits {
/// What an Inference looks like to generate.   tokens (T) → logits (rows,V)
template <std::size_t Rows>
struct Network {
  static constexpr std::size_t input_size = 4, output_size = 24, output_rows = Rows;
  std::vector<float> predict(std::span<const std::int32_t>) const { return std::vector<float>(output_size); }
};
#ifndef REGIMEN_MISUSE
struct Classifier : Network<4> {};
#else
struct Classifier : Network<1> {};
#endif

auto written(Classifier& model, std::span<const std::int32_t> prompt) { return generate(model, prompt, 10); }
}  // namespace generate_needs_logits

// ---- generate_reads_tokens ------------------------------------------------------------------------------------------
// A text where generate reads tokens.
// expect: generate reads tokens, not characters; write generate\(model, tokenizer\.encode\(text\), count\)
namespace generate_reads_tokens {
struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<256>, 8>, Linear<256>> {};

void program() {
  Trainer<Gpt> trainer;
#ifndef REGIMEN_MISUSE
  const std::vector<std::int32_t> prompt{'O', 'n', 'c', 'e'};
  trainer.generate(prompt, 100);
#else
  trainer.generate("Once", 100);
#endif
}
}  // namespace generate_reads_tokens

// ---- generate_reads_tokens_inference --------------------------------------------------------------------------------
// The same of an Inference.
// expect: generate reads tokens, not characters; write generate\(model, tokenizer\.encode\(text\), count\)
namespace generate_reads_tokens_inference {
struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<256>, 8>, Linear<256>> {};

void program() {
  Inference<Gpt> model("gpt.safetensors");
#ifndef REGIMEN_MISUSE
  const std::vector<std::int32_t> prompt{'O', 'n', 'c', 'e'};
  generate(model, prompt, 100, {.temperature = 0.8});
#else
  generate(model, std::string("Once"), 100, {.temperature = 0.8});
#endif
}
}  // namespace generate_reads_tokens_inference

// ---- generate_reads_one_text ----------------------------------------------------------------------------------------
// Text from a model that also attends to another text, here to its own: later words are no secret to it.
// expect: generate goes on with one text, a CrossAttention reads two; call predict for every token
// names: Net
namespace generate_reads_one_text {
struct Other : NamedValue<Shape<8, 8>> {};
struct Net : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Keep<Other>,
                   Residual<LayerNorm, CrossAttention<Other, Heads<2>>>, Linear<16>> {};

void program() {
  Trainer<Net, Batch<4>> trainer;
  trainer.fit(Text{"input.txt"}, {.steps = 100});
#ifndef REGIMEN_MISUSE
  trainer.predict(std::vector<std::int32_t>{1, 2, 0, 0, 0, 0, 0, 0});
#else
  trainer.generate(std::vector<std::int32_t>{1, 2}, 20);
#endif
}
}  // namespace generate_reads_one_text

// ---- generate_takes_source ------------------------------------------------------------------------------------------
// A translation without what is to be translated.
// expect: this model generates a text from another one; write generate\(model, source, prompt, count\)
// names: Net
namespace generate_takes_source {
struct Heard : NamedValue<Shape<8, 8>> {};
struct Net : Model<Input<Bundle<Tokens<8>, Tokens<6>>>,
                   Fork<Last, Sequential<Part<0>, Embedding<Vocabulary<16>, 8>, Keep<Heard>>,
                        Sequential<Part<1>, Embedding<Vocabulary<16>, 8>, CrossAttention<Heard, Heads<2>>>>,
                   Linear<16>> {};

void program() {
  Inference<Net, Batch<1>> model("net.safetensors");
  const std::vector<std::int32_t> source(8), prompt(1);
#ifndef REGIMEN_MISUSE
  generate(model, source, prompt, 5);
#else
  generate(model, prompt, 5);
#endif
}
}  // namespace generate_takes_source

// ---- generate_translates --------------------------------------------------------------------------------------------
// A translation by a model whose decoder attends to its own later words, too.
// expect: generate from a source needs Fork<Last, encoder of Part<0>, decoder of Part<1>>; call predict
// names: Net
namespace generate_translates {
struct Heard : NamedValue<Shape<6, 8>> {};
template <class First, class Second>
struct Translator : Model<Input<Bundle<Tokens<6>, Tokens<6>>>, Fork<Last, First, Second>, Linear<16>> {};
using Words = Embedding<Vocabulary<16>, 8>;
#ifndef REGIMEN_MISUSE
struct Net : Translator<Sequential<Part<0>, Words, Keep<Heard>>,
                        Sequential<Part<1>, Words, CrossAttention<Heard, Heads<2>>>> {};
#else
struct Net : Translator<Sequential<Part<0>, Words>,
                        Sequential<Part<1>, Words, Keep<Heard>, CrossAttention<Heard, Heads<2>>>> {};
#endif

void program() {
  Trainer<Net, Batch<4>> trainer;
  trainer.generate(std::vector<std::int32_t>(6), std::vector<std::int32_t>(1), 5);
}
}  // namespace generate_translates

// ---- within_names_length --------------------------------------------------------------------------------------------
// Attention within a length whose name is one of values.
// expect: Within and KeepLength name a length; write struct Name : NamedLength<\.\.\.> {}
// names: Length
namespace within_names_length {
#ifndef REGIMEN_MISUSE
struct Length : NamedLength<8> {};
#else
struct Length : NamedValue<Shape<1>> {};
#endif
struct Net : Model<Input<Tokens<8>>, KeepLength<Length, PaddedWith<0>>, Embedding<Vocabulary<16>, 8>,
                   SelfAttention<Heads<2>, Within<Length>>, Linear<16>> {};

void program() { Trainer<Net, Batch<4>> trainer; }
}  // namespace within_names_length

// ---- within_ends_its_keys -------------------------------------------------------------------------------------------
// Attention among the positions of the target, within the length of the source.
// expect: Within<Name> ends keys of other positions than Name's; name the length of their text
// names: Within<SourceLength>
namespace within_ends_its_keys {
struct SourceLength : NamedLength<12> {};
struct TargetLength : NamedLength<8> {};
struct Encoded : NamedValue<Shape<12, 8>> {};
using Words = Embedding<Vocabulary<16>, 8>;
#ifndef REGIMEN_MISUSE
using Among = SelfAttention<Heads<2>, Within<TargetLength>>;
#else
using Among = SelfAttention<Heads<2>, Within<SourceLength>>;
#endif
using Encoder = Sequential<Part<0>, KeepLength<SourceLength, PaddedWith<0>>, Words, Keep<Encoded>>;
using Decoder = Sequential<Part<1>, KeepLength<TargetLength, PaddedWith<0>>, Words, Among,
                           CrossAttention<Encoded, Heads<2>, Within<SourceLength>>>;
struct Net : Model<Input<Bundle<Tokens<12>, Tokens<8>>>, Fork<Last, Encoder, Decoder>, Linear<16>> {};

void program() { Trainer<Net, Batch<4>> trainer; }
}  // namespace within_ends_its_keys

// ---- within_looks_ahead ---------------------------------------------------------------------------------------------
// Padding hidden from causal attention, which comes before it.
// expect: Causal hides all that comes later, padding too; leave out Within<\.\.\.>
// names: Within<
namespace within_looks_ahead {
struct Length : NamedLength<8> {};
#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<2>, Causal>;
#else
using Attend = SelfAttention<Heads<2>, Causal, Within<Length>>;
#endif
struct Net : Model<Input<Tokens<8>>, KeepLength<Length, PaddedWith<0>>, Embedding<Vocabulary<16>, 8>, Attend,
                   Linear<16>> {};

void program() { Trainer<Net, Batch<4>> trainer; }
}  // namespace within_looks_ahead

// ---- length_counts_its_text -----------------------------------------------------------------------------------------
// The length of a text whose name declares other positions.
// expect: KeepLength<Name, \.\.\.> counts a text of other positions than Name's; declare the text's
// names: KeepLength<Length
// names: 8
namespace length_counts_its_text {
#ifndef REGIMEN_MISUSE
struct Length : NamedLength<8> {};
#else
struct Length : NamedLength<16> {};
#endif
struct Net : Model<Input<Tokens<8>>, KeepLength<Length, PaddedWith<0>>, Embedding<Vocabulary<16>, 8>,
                   SelfAttention<Heads<2>, Within<Length>>, Linear<16>> {};

void program() { Trainer<Net, Batch<4>> trainer; }
}  // namespace length_counts_its_text

// ---- one_token_pads_a_text ------------------------------------------------------------------------------------------
// Two lengths of one text, each with another padding: a shorter source has one token behind its end.
// expect: PaddedWith<\.\.\.> differs between two KeepLength of one text; write the same token in both
// names: PaddedWith<1>
namespace one_token_pads_a_text {
struct Length : NamedLength<8> {};
struct Again : NamedLength<8> {};
#ifndef REGIMEN_MISUSE
using Ends = Sequential<KeepLength<Length, PaddedWith<0>>, KeepLength<Again, PaddedWith<0>>>;
#else
using Ends = Sequential<KeepLength<Length, PaddedWith<0>>, KeepLength<Again, PaddedWith<1>>>;
#endif
struct Net : Model<Input<Tokens<8>>, Ends, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, Within<Length>>,
                   SelfAttention<Heads<2>, Within<Again>>, Linear<16>> {};

void program() { Trainer<Net, Batch<4>> trainer; }
}  // namespace one_token_pads_a_text

// ---- padding_is_a_token ---------------------------------------------------------------------------------------------
// Padding with a token that the Embedding does not have.
// expect: PaddedWith<\.\.\.> names no token of the vocabulary; write the one that fills shorter texts
// names: PaddedWith<16>
namespace padding_is_a_token {
struct Length : NamedLength<8> {};
#ifndef REGIMEN_MISUSE
using Ends = KeepLength<Length, PaddedWith<15>>;
#else
using Ends = KeepLength<Length, PaddedWith<16>>;
#endif
struct Net : Model<Input<Tokens<8>>, Ends, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, Within<Length>>,
                   Linear<16>> {};

void program() { Trainer<Net, Batch<4>> trainer; }
}  // namespace padding_is_a_token

// ---- padding_is_a_token_table ---------------------------------------------------------------------------------------
// A table that is padded with a token that it does not have.
// expect: PaddedWith<\.\.\.> names no token of the vocabulary; write the one that fills shorter texts
// names: PaddedWith<16>
namespace padding_is_a_token_table {
#ifndef REGIMEN_MISUSE
using Words = Embedding<Vocabulary<12>, 8, PaddedWith<11>>;
#else
using Words = Embedding<Vocabulary<12>, 8, PaddedWith<16>>;
#endif
struct Net : Model<Input<Tokens<8>>, Words, TiedLinear<Words>> {};

void program() { Trainer<Net, Batch<4>> trainer; }
}  // namespace padding_is_a_token_table
// SPDX-License-Identifier: Apache-2.0
