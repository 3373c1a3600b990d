// Attention: heads, positions, windows.
#include "support/model_recipe.hpp"

#include <regimen/layer/cross_attention.hpp>
#include <regimen/layer/patches.hpp>

using namespace regimen;

// ---- attention_takes_option -----------------------------------------------------------------------------------------
// Heads after Causal.
// expect: SelfAttention takes Heads<N> first, then its own options, as Causal or Rotary<>; write no other option
// names: regimen::Causal
namespace attention_takes_option {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, Causal>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Causal, Heads<2>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace attention_takes_option

// ---- attention_takes_option_other -----------------------------------------------------------------------------------
// A layer among the options of attention.
// expect: SelfAttention takes Heads<N> first, then its own options, as Causal or Rotary<>; write no other option
// names: regimen::LayerNorm
namespace attention_takes_option_other {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, LayerNorm, SelfAttention<Heads<2>, Causal>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, LayerNorm, Causal>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace attention_takes_option_other

// ---- attention_options_differ ---------------------------------------------------------------------------------------
// Two dropout rates, of which one would be ignored.
// expect: attention has an option twice; keep one of each kind
// names: regimen::Dropout<regimen::in_order::Ratio<1, 5>>
namespace attention_options_differ {
#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<2>, Dropout<Ratio<1, 10>>>;
#else
using Attend = SelfAttention<Heads<2>, Dropout<Ratio<1, 10>>, Dropout<Ratio<1, 5>>>;
#endif

struct Gpt : Model<Input<Tokens<4>>, Embedding<Vocabulary<16>, 8>, Attend, Linear<16>> {};
using Train = Trainer<Gpt>;

bool program() { return sizeof(Train) == 0; }
}  // namespace attention_options_differ

// ---- cross_attention_takes_option -----------------------------------------------------------------------------------
// Attention to another text whose positions it should not see.
// expect: CrossAttention<Name, Heads<N>, \.\.\.> takes options that are not about positions; write no other option
// names: Causal
namespace cross_attention_takes_option {
struct Other : NamedValue<Shape<5, 8>> {};
#ifndef REGIMEN_MISUSE
using Attend = CrossAttention<Other, Heads<2>, WithoutBias>;
#else
using Attend = CrossAttention<Other, Heads<2>, WithoutBias, Causal>;
#endif
struct Small : Model<Input<Series<5, 8>>, Keep<Other>, Attend, Linear<4>> {};

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace cross_attention_takes_option

// ---- heads_divide_width ---------------------------------------------------------------------------------------------
// Three heads share eight channels.
// expect: Heads<N> cuts the width into N equal heads; write an N that divides the width
// names: regimen::Heads<3>
// names: regimen::Shape<8, 8>
namespace heads_divide_width {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<3>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace heads_divide_width

// ---- heads_divide_width_zero ----------------------------------------------------------------------------------------
// Attention without heads.
// expect: Heads<N> cuts the width into N equal heads; write an N that divides the width
// names: regimen::Heads<0>
// names: regimen::Shape<8, 8>
namespace heads_divide_width_zero {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<1>>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<0>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace heads_divide_width_zero

// ---- heads_at_most_2048 ---------------------------------------------------------------------------------------------
// One head of 2064 channels.
// expect: attention takes heads of at most 2048 channels; write a larger N in Heads<N>, or a smaller HeadWidth<D>
// names: regimen::Heads<1>
// names: 2064
namespace heads_at_most_2048 {
#ifndef REGIMEN_MISUSE
struct Wide : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 2064>, SelfAttention<Heads<2>>, Linear<16>> {};
#else
struct Wide : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 2064>, SelfAttention<Heads<1>>, Linear<16>> {};
#endif

using Train = Trainer<Wide>;

bool program() { return sizeof(Train) == 0; }
}  // namespace heads_at_most_2048

// ---- key_heads_divide_heads -----------------------------------------------------------------------------------------
// Three key heads for four heads.
// expect: KeyHeads<K> are each shared by equally many heads; write a K that divides N in Heads<N>
// names: regimen::KeyHeads<3>
namespace key_heads_divide_heads {
#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<4>, KeyHeads<2>>;
#else
using Attend = SelfAttention<Heads<4>, KeyHeads<3>>;
#endif

struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Attend, Linear<16>> {};
using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace key_heads_divide_heads

// ---- rotary_turns_pairs ---------------------------------------------------------------------------------------------
// Rotary positions in heads of one channel.
// expect: Rotary turns pairs of a head's channels; write Heads<N> or HeadWidth<D> with even heads
// names: regimen::Heads<8>
namespace rotary_turns_pairs {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<4>, Rotary<>>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<8>, Rotary<>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace rotary_turns_pairs

// ---- rotary_scales_frequencies --------------------------------------------------------------------------------------
// Two frequencies between which nothing lies.
// expect: Rotary<Theta, \.\.\.> takes Llama3Scaling<Factor, Low, High, Length>; write Ratios above 0, Low < High
// names: regimen::Llama3Scaling<
namespace rotary_scales_frequencies {
#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<4>, Rotary<Ratio<500'000>, Llama3Scaling<Ratio<8>, Ratio<1>, Ratio<4>>>>;
#else
using Attend = SelfAttention<Heads<4>, Rotary<Ratio<500'000>, Llama3Scaling<Ratio<8>, Ratio<4>, Ratio<1>>>>;
#endif

struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Attend, Linear<16>> {};
using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace rotary_scales_frequencies

// ---- theta_above_zero -----------------------------------------------------------------------------------------------
// A base of rotary frequencies that has no powers.
// expect: Rotary<Theta> takes a Ratio above zero; write Rotary<>, or Rotary<Ratio<500'000>>
// names: regimen::in_order::Ratio<0
namespace theta_above_zero {
#ifndef REGIMEN_MISUSE
using Positions = Rotary<Ratio<500'000>>;
#else
using Positions = Rotary<Ratio<0>>;
#endif

struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<4>, Positions>, Linear<16>> {};
using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace theta_above_zero

// ---- relative_bias_has_buckets --------------------------------------------------------------------------------------
// Buckets of distances that all have one distance each, up to the largest.
// expect: RelativeBias<B, M> has an even B of 4 or more, and M above B / 2; write RelativeBias<32, 128>
// names: RelativeBias<32
namespace relative_bias_has_buckets {
#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<2>, RelativeBias<32, 64>>;
#else
using Attend = SelfAttention<Heads<2>, RelativeBias<32, 16>>;
#endif
struct Small : Model<Input<Series<5, 8>>, Attend, Linear<4>> {};

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace relative_bias_has_buckets

// ---- sliding_window_is_causal ---------------------------------------------------------------------------------------
// A window of earlier positions, in attention that sees later ones.
// expect: SlidingWindow<N> is the N positions up to a position itself; add Causal
// names: SlidingWindow<4
namespace sliding_window_is_causal {
#ifndef REGIMEN_MISUSE
using Attend = SelfAttention<Heads<2>, Causal, SlidingWindow<4>>;
#else
using Attend = SelfAttention<Heads<2>, SlidingWindow<4>>;
#endif
struct Small : Model<Input<Series<5, 8>>, Attend, Linear<4>> {};

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace sliding_window_is_causal

// ---- rate_below_one_attention ---------------------------------------------------------------------------------------
// Attention with a dropout rate above one.
// expect: Dropout<Ratio<\.\.\.>> drops at least 0 and less than 1; write Dropout<Ratio<1, 10>>
// names: regimen::in_order::Ratio<3, 2>
namespace rate_below_one_attention {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, Dropout<Ratio<1, 10>>>, Linear<16>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<2>, Dropout<Ratio<3, 2>>>, Linear<16>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace rate_below_one_attention

// ---- layer_takes_positions_attention --------------------------------------------------------------------------------
// Attention among the pixels of an image, which has no length: Patches<1> gives it one.
// expect: this layer takes positions \(length, channels\); put it behind an Embedding or Patches<N>
// names: regimen::Shape<4, 6, 8>
namespace layer_takes_positions_attention {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<4, 6, 8>>, Patches<1>, SelfAttention<Heads<2>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<4, 6, 8>>, SelfAttention<Heads<2>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace layer_takes_positions_attention

// ---- number_for_heads -----------------------------------------------------------------------------------------------
// A number where a type stands. A template of C++20 takes types or values in one place, not both, so no header can answer with a sentence: the
// compiler says that a type is expected. The number of heads has a name, Heads<N>.
// compiler: (template argument for template type parameter must be a type|type/value mismatch at argument 1|expected a type specifier)
namespace number_for_heads {
#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Tokens<4>>, Embedding<Vocabulary<16>, 8>, SelfAttention<Heads<4>>, Linear<16>> {};
#else
struct Mlp : Model<Input<Tokens<4>>, Embedding<Vocabulary<16>, 8>, SelfAttention<4>, Linear<16>> {};
#endif

using Train = Trainer<Mlp>;

bool program() { return sizeof(Train) == 0; }
}  // namespace number_for_heads
// SPDX-License-Identifier: Apache-2.0
