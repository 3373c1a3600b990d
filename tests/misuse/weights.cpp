// Weights: frozen, tied, shared.
#include "support/model_recipe.hpp"

using namespace regimen;

// ---- something_trains -----------------------------------------------------------------------------------------------
// Everything is frozen.
// expect: no parameter of this model trains; add a layer with weights, freeze fewer layers, or write Inference<\.\.\.>
// names: Net
namespace something_trains {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Freeze<Linear<8>>>;
#else
using Train = Trainer<Net, Freeze<Linear<8>, Linear<4>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace something_trains

// ---- freeze_names_a_layer -------------------------------------------------------------------------------------------
// Freezes a layer that the model does not have.
// expect: Freeze<\.\.\.> names a layer that this model lacks; name one that it has
// names: regimen::Linear<16>
namespace freeze_names_a_layer {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Freeze<Linear<8>>>;
#else
using Train = Trainer<Net, Freeze<Linear<16>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace freeze_names_a_layer

// ---- freeze_names_a_layer_composite ---------------------------------------------------------------------------------
// Freezes attention, which consists of several layers.
// expect: Freeze<\.\.\.> freezes single layers, such as Embedding<\.\.\.> or Linear<N>; name these
// names: regimen::in_order::SelfAttention<regimen::Heads<2>, regimen::Causal>
namespace freeze_names_a_layer_composite {
struct Gpt : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Repeat<2, Residual<LayerNorm, SelfAttention<Heads<2>, Causal>>>, LayerNorm, Linear<16>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Gpt, Freeze<Embedding<Vocabulary<16>, 8>>>;
#else
using Train = Trainer<Gpt, Freeze<SelfAttention<Heads<2>, Causal>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace freeze_names_a_layer_composite

// ---- frozen_layer_has_weights ---------------------------------------------------------------------------------------
// Freezes an activation, which has no weights.
// expect: Freeze<\.\.\.> names a layer without weights that would train; leave it out
// names: regimen::Relu
namespace frozen_layer_has_weights {
struct Active : Model<Input<Vector<8>>, Linear<8>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Active, Freeze<Linear<8>>>;
#else
using Train = Trainer<Active, Freeze<Relu>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace frozen_layer_has_weights

// ---- frozen_layer_has_weights_place ---------------------------------------------------------------------------------
// A Frozen around an activation, which has no weights.
// expect: Frozen<\.\.\.> holds no layer with weights, so nothing would be frozen; leave it out
// names: regimen::Relu
namespace frozen_layer_has_weights_place {
#ifndef REGIMEN_MISUSE
struct Tuned : Model<Input<Vector<8>>, Frozen<Linear<8>, Relu>, Linear<4>> {};
#else
struct Tuned : Model<Input<Vector<8>>, Linear<8>, Frozen<Relu>, Linear<4>> {};
#endif

using Train = Trainer<Tuned>;

bool program() { return sizeof(Train) == 0; }
}  // namespace frozen_layer_has_weights_place

// ---- kept_statistics_exist ------------------------------------------------------------------------------------------
// Statistics are to stay where no layer has any.
// expect: Frozen<KeepStatistics, \.\.\.> holds no layer with running statistics; leave KeepStatistics out
// names: regimen::Frozen<regimen::KeepStatistics, regimen::Linear<8>, regimen::LayerNorm>
namespace kept_statistics_exist {
#ifndef REGIMEN_MISUSE
struct Tuned : Model<Input<Vector<8>>, Frozen<Linear<8>, LayerNorm>, Linear<4>> {};
#else
struct Tuned : Model<Input<Vector<8>>, Frozen<KeepStatistics, Linear<8>, LayerNorm>, Linear<4>> {};
#endif

using Train = Trainer<Tuned>;

bool program() { return sizeof(Train) == 0; }
}  // namespace kept_statistics_exist

// ---- tied_layer_exists ----------------------------------------------------------------------------------------------
// The output layer shares a table that the model does not have.
// expect: a tied layer shares the weights of a layer that this model lacks; name one that it has
// names: regimen::Embedding<regimen::Vocabulary<32>, 8>
namespace tied_layer_exists {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, LayerNorm, TiedLinear<Embedding<Vocabulary<16>, 8>>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, LayerNorm, TiedLinear<Embedding<Vocabulary<32>, 8>>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace tied_layer_exists

// ---- tied_layer_exists_linear ---------------------------------------------------------------------------------------
// The output shares the weights of a Linear.
// expect: TiedLinear<\.\.\.> shares the table of an Embedding; write TiedLinear<Embedding<\.\.\.>>
// names: regimen::Linear<8>
namespace tied_layer_exists_linear {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Linear<8>, TiedLinear<Embedding<Vocabulary<16>, 8>>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Linear<8>, TiedLinear<Linear<8>>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace tied_layer_exists_linear

// ---- tied_layers_share_a_type ---------------------------------------------------------------------------------------
// A table that is read in two element types.
// expect: an Embedding and its TiedLinear compute in one type; write both inside As<T, \.\.\.>, or neither
// names: regimen::Embedding<regimen::Vocabulary<16>, 8>
namespace tied_layers_share_a_type {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, As<fp32, Embedding<Vocabulary<16>, 8>>, LayerNorm, As<fp32, TiedLinear<Embedding<Vocabulary<16>, 8>>>> {};
#else
struct Small : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, LayerNorm, As<fp32, TiedLinear<Embedding<Vocabulary<16>, 8>>>> {};
#endif

using Train = Trainer<Small, Precision<bf16, fp32>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace tied_layers_share_a_type

// ---- tied_layers_train_together -------------------------------------------------------------------------------------
// A table that is frozen where it is read, and trains where it makes logits.
// expect: an Embedding and its TiedLinear train together; write both inside Frozen<\.\.\.>, or neither
// names: regimen::Embedding<regimen::Vocabulary<16>, 8>
namespace tied_layers_train_together {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Tokens<8>>, Frozen<Embedding<Vocabulary<16>, 8>>, LayerNorm,
                     Frozen<TiedLinear<Embedding<Vocabulary<16>, 8>>>> {};
#else
struct Small : Model<Input<Tokens<8>>, Frozen<Embedding<Vocabulary<16>, 8>>, LayerNorm,
                     TiedLinear<Embedding<Vocabulary<16>, 8>>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace tied_layers_train_together

// ---- shared_keeps_parameters ----------------------------------------------------------------------------------------
// A Linear of six channels, and of eight.
// expect: a Shared reads inputs for which its layers have other weights; give all its places the same channels
// names: Tower
namespace shared_keeps_parameters {
struct Tower;
using Encode = Shared<Tower, Linear<8>, Relu>;
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Concat, Sequential<Slice<0, 6>, Encode>, Sequential<Slice<2, 6>, Encode>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Concat, Sequential<Slice<0, 6>, Encode>, Encode>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace shared_keeps_parameters

// ---- shared_layers_agree --------------------------------------------------------------------------------------------
// One name for two lists of layers.
// expect: all Shared<Name, \.\.\.> of one name are the same layers; write the list once, as an alias, or another Name
// names: Tower
namespace shared_layers_agree {
struct Tower;
using Encode = Shared<Tower, Linear<8>, Relu>;
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Concat, Encode, Encode>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Concat, Encode, Shared<Tower, Linear<8>, Gelu>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace shared_layers_agree

// ---- shared_places_share_a_type -------------------------------------------------------------------------------------
// Weights that are read in two element types.
// expect: all Shared of one name compute in one type; write As<T, \.\.\.> around all of them, none, or inside
// names: Tower
namespace shared_places_share_a_type {
struct Tower;
using Encode = Shared<Tower, Linear<8>, Relu>;
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Concat, As<fp32, Encode>, As<fp32, Encode>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Concat, Encode, As<fp32, Encode>>, Linear<4>> {};
#endif

using Train = Trainer<Small, Precision<bf16, fp32>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace shared_places_share_a_type

// ---- shared_places_train_together -----------------------------------------------------------------------------------
// One set of weights, frozen in one of its two places.
// expect: all Shared of one name train together; write Frozen<\.\.\.> around all of them, none, or inside
// names: Tower
namespace shared_places_train_together {
struct Tower;
using Encode = Shared<Tower, Linear<8>, Gelu>;
#ifndef REGIMEN_MISUSE
struct Twice : Model<Input<Vector<8>>, Frozen<Encode>, Frozen<Encode>, Linear<4>> {};
#else
struct Twice : Model<Input<Vector<8>>, Frozen<Encode>, Encode, Linear<4>> {};
#endif

using Train = Trainer<Twice>;

bool program() { return sizeof(Train) == 0; }
}  // namespace shared_places_train_together
// SPDX-License-Identifier: Apache-2.0
