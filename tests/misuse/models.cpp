// Models: what a model is a list of.
#include <regimen/regimen.hpp>

#include <regimen/models/two_towers.hpp>

using namespace regimen;

// ---- model_begins_with_input ----------------------------------------------------------------------------------------
// A model without its Input.
// expect: a model begins with its input; write Model<Input<\.\.\.>, Layers\.\.\.>
// names: Net
namespace model_begins_with_input {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<5>>, Linear<6>, Relu, Linear<4>> {};
#else
struct Net : Model<Linear<6>, Relu, Linear<4>> {};
#endif

void program() {
  Trainer<Net, Batch<3>> trainer;
  trainer.fit(Fake{{.samples = 64}}, {.steps = 100});
  trainer.save("net.safetensors");
}
}  // namespace model_begins_with_input

// ---- model_is_a_type ------------------------------------------------------------------------------------------------
// A model as an object, as in other libraries.
// expect: a model is a type, and a Trainer holds its weights; write Trainer<Model> trainer
// names: Mlp
namespace model_is_a_type {
struct Mlp : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
void program() { Trainer<Mlp> trainer; }
#else
void program() {
  Mlp model;
  Trainer trainer(model);
}
#endif
}  // namespace model_is_a_type

// ---- input_takes_kind -----------------------------------------------------------------------------------------------
// An Input with an element type in place of a sample's kind.
// expect: Input<\.\.\.> takes a sample's kind; write Tokens<T>, Vector<N>, Series<\.\.\.>, Image<\.\.\.> or Volume<\.\.\.>
// names: float
namespace input_takes_kind {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<5>>, Linear<6>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<float>, Linear<6>, Relu, Linear<4>> {};
#endif

void program() {
  Trainer<Net, Batch<3>> trainer;
  trainer.fit(Fake{{.samples = 64}}, {.steps = 100});
  trainer.save("net.safetensors");
}
}  // namespace input_takes_kind

// ---- input_is_a_kind ------------------------------------------------------------------------------------------------
// A number of inputs alone: an input says what its numbers are.
// compiler: (type/value mismatch at argument|template argument for template type parameter must be a type|expected a type specifier)
namespace input_is_a_kind {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<784>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<784>, Linear<16>, Relu, Linear<4>> {};
#endif

void program() {
  Trainer<Net, Batch<8>> trainer{{.seed = 3}};
  trainer.fit(Fake(), {.steps = 3});
}
}  // namespace input_is_a_kind

// ---- list_holds_layers ----------------------------------------------------------------------------------------------
// A number among the layers, in a nested list.
// expect: a list of layers holds something that is no layer; take it out \(layers have a name and Bound<X, Roles>\)
// names: int
namespace list_holds_layers {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<5>>, Repeat<2, Sequential<Residual<Linear<5>>>>, Linear<4>> {};
#else
struct Net : Model<Input<Vector<5>>, Repeat<2, Sequential<Residual<Linear<5>, As<fp32, int>>>>, Linear<4>> {};
#endif

void program() {
  Trainer<Net, Batch<3>> trainer;
  trainer.fit(Fake{{.samples = 64}}, {.steps = 100});
  trainer.save("net.safetensors");
}
}  // namespace list_holds_layers

// ---- list_holds_layers_call -----------------------------------------------------------------------------------------
// A layer with parentheses, as for an object.
// expect: a list of layers names types; leave the parentheses out
// names: regimen::Relu
namespace list_holds_layers_call {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<5>>, Linear<6>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<Vector<5>>, Linear<6>, Relu(), Linear<4>> {};
#endif

void program() {
  Trainer<Net, Batch<3>> trainer;
  trainer.fit(Fake{{.samples = 64}}, {.steps = 100});
  trainer.save("net.safetensors");
}
}  // namespace list_holds_layers_call

// ---- list_holds_layers_input ----------------------------------------------------------------------------------------
// A second input after the first.
// expect: a list of layers holds an Input; a model has one, and begins with it
// names: regimen::Vector<6>
namespace list_holds_layers_input {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<5>>, Linear<6>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<Vector<5>>, Linear<6>, Input<Vector<6>>, Linear<4>> {};
#endif

void program() {
  Trainer<Net, Batch<3>> trainer;
  trainer.fit(Fake{{.samples = 64}}, {.steps = 100});
  trainer.save("net.safetensors");
}
}  // namespace list_holds_layers_input

// ---- list_holds_layers_model ----------------------------------------------------------------------------------------
// A model among the layers of another.
// expect: a list of layers holds a model; write its layers, LayersOf<Model>, or EncoderOf<Model>, without the head
// names: Net
namespace list_holds_layers_model {
struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<2>> {};
#ifndef REGIMEN_MISUSE
struct Views : TwinTowers<Tower<Vector<4>, EncoderOf<Net>>, Linear<8>> {};
#else
struct Views : TwinTowers<Tower<Vector<4>, Net>, Linear<8>> {};
#endif

void program() {
  Trainer<Views, Loss<NtXent<Ratio<1, 10>>>, Batch<4>> trainer;
  trainer.fit(Fake{{.samples = 64, .classes = 1}}, {.steps = 100});
}
}  // namespace list_holds_layers_model

// ---- list_holds_layers_policy ---------------------------------------------------------------------------------------
// A policy among the layers.
// expect: a list of layers holds a policy; write it behind the model, Trainer<Model, Policies\.\.\.>
// names: regimen::Batch<3>
namespace list_holds_layers_policy {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<5>>, Linear<6>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<Vector<5>>, Linear<6>, Batch<3>, Linear<4>> {};
#endif

void program() {
  Trainer<Net, Batch<3>> trainer;
  trainer.fit(Fake{{.samples = 64}}, {.steps = 100});
  trainer.save("net.safetensors");
}
}  // namespace list_holds_layers_policy

// ---- layer_is_a_type ------------------------------------------------------------------------------------------------
// An object where a type belongs: a model is a list of types, without braces.
// compiler: (type/value mismatch at argument|template argument for template type parameter must be a type|expected a type specifier|expected a ">")
namespace layer_is_a_type {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<Vector<8>>, Linear<16>{}, Relu, Linear<4>> {};
#endif

void program() {
  Trainer<Net, Batch<8>> trainer{{.seed = 3}};
  trainer.fit(Fake(), {.steps = 3});
}
}  // namespace layer_is_a_type

// ---- layer_has_arguments --------------------------------------------------------------------------------------------
// A layer without its arguments: a linear layer has the number of its outputs. What stands where a type belongs and is none, C++
// itself answers, before the library can speak; so it does to Loss<Huber>, where Huber<Ratio<1>> is meant.
// compiler: (type/value mismatch at argument 2 in template parameter list|use of class template .* requires template arguments|argument list for class template .* is missing)
namespace layer_has_arguments {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Net : Model<Input<Vector<8>>, Linear, Relu, Linear<4>> {};
#endif

void program() {
  Trainer<Net, Batch<8>> trainer{{.seed = 3}};
  trainer.fit(Fake(), {.steps = 3});
}
}  // namespace layer_has_arguments

// ---- repeat_begins_with_count ---------------------------------------------------------------------------------------
// A Repeat whose count stands behind its block.
// compiler: (type/value mismatch at argument 1|template argument for non-type template parameter must be an expression|type name is not allowed)
namespace repeat_begins_with_count {
using Block = Residual<LayerNorm, Linear<8>>;

#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<8>>, Repeat<4, Block>, Linear<4>> {};
#else
struct Net : Model<Input<Vector<8>>, Repeat<Block, 4>, Linear<4>> {};
#endif

void program() {
  Trainer<Net, Batch<8>> trainer{{.seed = 3}};
  trainer.fit(Fake(), {.steps = 3});
}
}  // namespace repeat_begins_with_count

// ---- layer_takes_positions_vector -----------------------------------------------------------------------------------
// An Lstm behind numbers that have no order in time.
// expect: this layer takes positions, not a vector; write Input<Series<Length, Channels>>, or an Embedding, and no Flatten
// names: regimen::Lstm<32
namespace layer_takes_positions_vector {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Series<24, 7>>, Lstm<32>, MeanPool, Linear<4>> {};
#else
struct Net : Model<Input<Vector<24 * 7>>, Lstm<32>, MeanPool, Linear<4>> {};
#endif

bool program() { return sizeof(Trainer<Net>) == 0; }
}  // namespace layer_takes_positions_vector

// ---- conv_takes_options_numbers -------------------------------------------------------------------------------------
// The channels of the input, and a stride without its name, as PyTorch has them: Conv2d(3, 64, 7, 2).
// expect: a convolution knows its input's channels, and options have names; write Conv2d<64, 3, Stride<2>>
// names: regimen::in_order::Conv2d<3, 64, 7, 2>
namespace conv_takes_options_numbers {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Image<32, 32, 3>>, Conv2d<64, 7, Stride<2>>, Relu, GlobalAveragePool, Linear<4>> {};
#else
struct Net : Model<Input<Image<32, 32, 3>>, Conv2d<3, 64, 7, 2>, Relu, GlobalAveragePool, Linear<4>> {};
#endif

bool program() { return sizeof(Trainer<Net>) == 0; }
}  // namespace conv_takes_options_numbers

// ---- conv_takes_options_numbers_1d ----------------------------------------------------------------------------------
// The same of positions: Conv1d(8, 64, 3).
// expect: a convolution knows its input's channels, and options have names; write Conv2d<64, 3, Stride<2>>
// names: regimen::in_order::Conv1d<8, 64, 3>
namespace conv_takes_options_numbers_1d {
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Series<16, 8>>, Conv1d<64, 3>, Relu, MeanPool, Linear<4>> {};
#else
struct Net : Model<Input<Series<16, 8>>, Conv1d<8, 64, 3>, Relu, MeanPool, Linear<4>> {};
#endif

bool program() { return sizeof(Trainer<Net>) == 0; }
}  // namespace conv_takes_options_numbers_1d

// ---- embedding_takes_option -----------------------------------------------------------------------------------------
// An option of another layer.
// expect: Embedding<Vocabulary<N>, Channels, \.\.\.> takes PaddedWith<token>, once; write no other option
// names: regimen::Causal
namespace embedding_takes_option {
#ifndef REGIMEN_MISUSE
using Words = Embedding<Vocabulary<16>, 8, PaddedWith<15>>;
#else
using Words = Embedding<Vocabulary<16>, 8, Causal>;
#endif
struct Net : Model<Input<Tokens<8>>, Words, TiedLinear<Words>> {};

void program() { Trainer<Net, Batch<4>> trainer; }
}  // namespace embedding_takes_option
// SPDX-License-Identifier: Apache-2.0
