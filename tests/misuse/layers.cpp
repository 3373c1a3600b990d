// Arguments of layers: numbers, types and lists in their templates.
#include "support/model_recipe.hpp"

#include <regimen/layer/recurrent.hpp>

#include <ratio>

using namespace regimen;

// ---- layers_one_to_255 ----------------------------------------------------------------------------------------------
// A model without layers.
// expect: Model, Residual, Fork and Repeat hold 1 to 255 layers; write at least one, or write equal ones as Repeat
// names: Small
namespace layers_one_to_255 {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace layers_one_to_255

// ---- layers_one_to_255_branch ---------------------------------------------------------------------------------------
// A branch without layers: the branch that is its input is Identity.
// expect: Model, Residual, Fork and Repeat hold 1 to 255 layers; write at least one, or write equal ones as Repeat
// names: regimen::Fork<regimen::Add, regimen::Sequential<>
namespace layers_one_to_255_branch {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Add, Identity, Linear<8>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Add, Sequential<>, Linear<8>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace layers_one_to_255_branch

// ---- levels_at_most_7 -----------------------------------------------------------------------------------------------
// Seven nested Residuals.
// expect: Residuals, Forks and Repeats stand in each other more than 6 deep; write the inner ones side by side
// names: Deep
namespace levels_at_most_7 {
#ifndef REGIMEN_MISUSE
struct Deep : Model<Input<Vector<8>>, Residual<Residual<Residual<Residual<Residual<Residual<Linear<8>>>>>>>> {};
#else
struct Deep : Model<Input<Vector<8>>, Residual<Residual<Residual<Residual<Residual<Residual<Residual<Linear<8>>>>>>>>> {};
#endif

using Train = Trainer<Deep>;

bool program() { return sizeof(Train) == 0; }
}  // namespace levels_at_most_7

// ---- list_holds_layers_repeat ---------------------------------------------------------------------------------------
// A block of several layers, without a Sequential.
// expect: Repeat<N, Block> repeats one block; write Repeat<N, Sequential<\.\.\.>>
namespace list_holds_layers_repeat {
#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Vector<8>>, Repeat<3, Sequential<Linear<8>, Relu>>, Linear<4>> {};
#else
struct Mlp : Model<Input<Vector<8>>, Repeat<3, Linear<8>, Relu>, Linear<4>> {};
#endif

using Train = Trainer<Mlp>;

bool program() { return sizeof(Train) == 0; }
}  // namespace list_holds_layers_repeat

// ---- list_holds_layers_keep_statistics ------------------------------------------------------------------------------
// KeepStatistics behind the layers of a Frozen.
// expect: KeepStatistics stands among layers; write it first in Frozen<KeepStatistics, \.\.\.>
// names: regimen::KeepStatistics
namespace list_holds_layers_keep_statistics {
#ifndef REGIMEN_MISUSE
struct Tuned : Model<Input<Vector<8>>, Frozen<KeepStatistics, Linear<8, NoBias>, BatchNorm<>>, Linear<4>> {};
#else
struct Tuned : Model<Input<Vector<8>>, Frozen<Linear<8, NoBias>, BatchNorm<>, KeepStatistics>, Linear<4>> {};
#endif

using Train = Trainer<Tuned>;

bool program() { return sizeof(Train) == 0; }
}  // namespace list_holds_layers_keep_statistics

// ---- linear_takes_one_width -----------------------------------------------------------------------------------------
// Inputs and outputs, as in other libraries.
// expect: Linear<N> takes its outputs alone, and its inputs from what stands before it; write one number, or Linear<N, NoBias>
// names: regimen::Linear<8, 16>
namespace linear_takes_one_width {
#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Mlp : Model<Input<Vector<8>>, Linear<8, 16>, Relu, Linear<4>> {};
#endif

using Train = Trainer<Mlp>;

bool program() { return sizeof(Train) == 0; }
}  // namespace linear_takes_one_width

// ---- recurrent_takes_option -----------------------------------------------------------------------------------------
// The width of the input, as PyTorch takes it, before that of the output.
// expect: Lstm<N> and Gru<N> take the width of their output, then at most NoBias; write no other option
// names: regimen::Lstm<8
namespace recurrent_takes_option {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<4>>, Embedding<Vocabulary<9>, 8>, Lstm<6, NoBias>, Linear<9>> {};
#else
struct Small : Model<Input<Tokens<4>>, Embedding<Vocabulary<9>, 8>, Lstm<8, 6>, Linear<9>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace recurrent_takes_option

// ---- rate_below_one -------------------------------------------------------------------------------------------------
// A dropout rate of one.
// expect: Dropout<Ratio<\.\.\.>> drops at least 0 and less than 1; write Dropout<Ratio<1, 10>>
// names: regimen::in_order::Ratio<1
namespace rate_below_one {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Linear<16>, Dropout<Ratio<1, 10>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Linear<16>, Dropout<Ratio<4, 4>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace rate_below_one

// ---- fraction_is_a_ratio --------------------------------------------------------------------------------------------
// The fraction of another library.
// expect: this fraction is no regimen::Ratio; write Ratio<1, 10> for a tenth
// names: std::ratio<1, 10>
namespace fraction_is_a_ratio {
#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Dropout<Ratio<1, 10>>, Linear<4>> {};
#else
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Dropout<std::ratio<1, 10>>, Linear<4>> {};
#endif

using Train = Trainer<Mlp>;

bool program() { return sizeof(Train) == 0; }
}  // namespace fraction_is_a_ratio

// ---- number_for_a_ratio ---------------------------------------------------------------------------------------------
// A number where a type stands. A template of C++20 takes types or values in one place, not both, so no header can answer with a sentence: the
// compiler says that a type is expected. Fractions are types, Ratio<1, 10>, as clang 14 takes no floating template argument.
// compiler: (template argument for template type parameter must be a type|type/value mismatch at argument 1|expected a type specifier)
namespace number_for_a_ratio {
#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Dropout<Ratio<1, 10>>, Linear<4>> {};
#else
struct Mlp : Model<Input<Vector<8>>, Linear<16>, Dropout<0.1>, Linear<4>> {};
#endif

using Train = Trainer<Mlp>;

bool program() { return sizeof(Train) == 0; }
}  // namespace number_for_a_ratio

// ---- number_for_vocabulary ------------------------------------------------------------------------------------------
// A number where a type stands. A template of C++20 takes types or values in one place, not both, so no header can answer with a sentence: the
// compiler says that a type is expected. The number of tokens has a name, Vocabulary<N>.
// compiler: (template argument for template type parameter must be a type|type/value mismatch at argument 1|expected a type specifier)
namespace number_for_vocabulary {
#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Tokens<4>>, Embedding<Vocabulary<16>, 8>, Linear<16>> {};
#else
struct Mlp : Model<Input<Tokens<4>>, Embedding<16, 8>, Linear<16>> {};
#endif

using Train = Trainer<Mlp>;

bool program() { return sizeof(Train) == 0; }
}  // namespace number_for_vocabulary
// SPDX-License-Identifier: Apache-2.0
