// Published networks, and the names of their weights.
#include <regimen/regimen.hpp>

#include <regimen/models/gpt2.hpp>
#include <regimen/models/layers_of.hpp>
#include <regimen/models/llama.hpp>
#include <regimen/models/names.hpp>
#include <regimen/models/resnet.hpp>
#include <regimen/models/vit.hpp>

using namespace regimen;

// ---- resnet_takes_option --------------------------------------------------------------------------------------------
// The stride of a basic block stands in its first convolution already.
// expect: ResNet takes CifarStem, ConvBias, MaxPooling, Width, BatchNorm, of bottlenecks StrideInFirst; each once
// names: regimen::resnet::StrideInFirst
namespace resnet_takes_option {
#ifndef REGIMEN_MISUSE
struct Net : ResNet18<Image<32, 32, 3>, 10, resnet::CifarStem, resnet::MaxPooling> {};
#else
struct Net : ResNet18<Image<32, 32, 3>, 10, resnet::CifarStem, resnet::StrideInFirst> {};
#endif
static_assert(Net::parameter_count == 11'173'962);
}  // namespace resnet_takes_option

// ---- resnet_takes_option_other --------------------------------------------------------------------------------------
// An option of another layer, in place of a width.
// expect: ResNet takes CifarStem, ConvBias, MaxPooling, Width, BatchNorm, of bottlenecks StrideInFirst; each once
// names: regimen::Heads<8>
namespace resnet_takes_option_other {
#ifndef REGIMEN_MISUSE
struct Net : ResNet50<Image<32, 32, 3>, 10, resnet::Width<8>, BatchNorm<PerMicroBatch>> {};
#else
struct Net : ResNet50<Image<32, 32, 3>, 10, Heads<8>> {};
#endif
static_assert(Net::parameter_count > 0);
}  // namespace resnet_takes_option_other

// ---- extents_at_least_one_resnet ------------------------------------------------------------------------------------
// A residual network with a stage of no blocks.
// expect: this layer has an extent of zero; write extents of at least one
// names: Depths<2, 0, 2>
namespace extents_at_least_one_resnet {
#ifndef REGIMEN_MISUSE
struct Net : ResNetModel<Image<32, 32, 3>, 10, resnet::Basic, resnet::Depths<2, 1, 2>, resnet::CifarStem> {};
#else
struct Net : ResNetModel<Image<32, 32, 3>, 10, resnet::Basic, resnet::Depths<2, 0, 2>, resnet::CifarStem> {};
#endif

void save(Inference<Net, Batch<1>>& model) { names::save<Net::torchvision_names>(model, "model.safetensors"); }
}  // namespace extents_at_least_one_resnet

// ---- llama_attends_to_itself ----------------------------------------------------------------------------------------
// A layer in place of the attention.
// expect: the attention of a LlamaModel is a SelfAttention<\.\.\.>; write SelfAttention<Heads<N>, Causal, \.\.\.>
// names: Linear<48>
namespace llama_attends_to_itself {
#ifndef REGIMEN_MISUSE
struct Net : LlamaModel<64, 16, 48, 96, 2, SelfAttention<Heads<4>, Causal, Rotary<>, WithoutBias>> {};
#else
struct Net : LlamaModel<64, 16, 48, 96, 2, Linear<48>> {};
#endif
static_assert(Net::parameter_count > 0);
static_assert(Trainer<Net, Batch<4>>::plan().parameters > 0);
}  // namespace llama_attends_to_itself

// ---- layers_of_takes_model ------------------------------------------------------------------------------------------
// A layer in place of the network whose layers another takes.
// expect: LayersOf and EncoderOf take a Model<\.\.\.>, or a struct that derives from one; give one
// names: Linear<48>
namespace layers_of_takes_model {
struct Ready : Model<Input<Vector<4>>, Linear<48>, Relu, Linear<2>> {};
#ifndef REGIMEN_MISUSE
struct Net : Model<Input<Vector<4>>, EncoderOf<Ready>, Linear<5>> {};
#else
struct Net : Model<Input<Vector<4>>, EncoderOf<Linear<48>>, Linear<5>> {};
#endif
static_assert(Trainer<Net, Batch<4>>::plan().parameters > 0);
}  // namespace layers_of_takes_model

// ---- model_is_gpt2 --------------------------------------------------------------------------------------------------
// Hugging Face has no names for the weights of this model.
// expect: hugging_face names the weights of a Gpt2Model; derive the network from Gpt2Model<\.\.\.>
// names: Net
namespace model_is_gpt2 {
#ifndef REGIMEN_MISUSE
struct Net : Gpt2Model<32, 12, 16, 2, 2> {};
#else
struct Net : Model<Input<Tokens<12>>, Embedding<Vocabulary<32>, 16>, Linear<32>> {};
#endif

void save(Inference<Net, Batch<1>>& model) { hugging_face::save(model, "model.safetensors"); }
}  // namespace model_is_gpt2

// ---- names_fit_model ------------------------------------------------------------------------------------------------
// A mapping to another library's names leaves a tensor of the model out.
// expect: the names do not fit the model's tensors; map each, in order, in its shape, or as absent\(\.\.\.\)
// names: Net
namespace names_fit_model {
struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<2>> {};
#ifndef REGIMEN_MISUSE
constexpr auto their_names = names::list(names::layer("fc1"), names::layer("fc2"));
#else
constexpr auto their_names = names::list(names::layer("fc1"), names::tensor("fc2.weight"));
#endif

void save(Inference<Net, Batch<1>>& model) { names::save<their_names>(model, "model.safetensors"); }
}  // namespace names_fit_model

// ---- names_fit_model_llama ------------------------------------------------------------------------------------------
// The names of a Llama for a vision transformer.
// expect: the names do not fit the model's tensors; map each, in order, in its shape, or as absent\(\.\.\.\)
// names: Net
namespace names_fit_model_llama {
struct Small : VitOf {
  static constexpr std::size_t image = 32, width = 48, heads = 3, depth = 2, classes = 5;
};
struct Net : VitModel<Small> {};

#ifndef REGIMEN_MISUSE
void load(Inference<Net, Batch<1>>& model) { names::load<timm::vit_names<Net>>(model, "model.safetensors"); }
#else
void load(Inference<Net, Batch<1>>& model) { names::load<hugging_face::llama_names<Net>>(model, "model.safetensors"); }
#endif
}  // namespace names_fit_model_llama

// ---- names_take_a_variable ------------------------------------------------------------------------------------------
// A function that exports a Trainer that it may not change.
// expect: names::load and names::save take a Trainer or an Inference that is a variable, not const; leave out const
// names: regimen::Trainer<Net>
namespace names_take_a_variable {
struct Net : Model<Input<Vector<4>>, Linear<3>, Relu, Linear<2>> {};
constexpr auto theirs = names::list(names::layer("a"), names::layer("b"));

#ifndef REGIMEN_MISUSE
void export_weights(Trainer<Net>& trainer) { names::save<theirs>(trainer, "model.safetensors"); }
#else
void export_weights(const Trainer<Net>& trainer) { names::save<theirs>(trainer, "model.safetensors"); }
#endif
}  // namespace names_take_a_variable

// ---- names_take_a_variable_load -------------------------------------------------------------------------------------
// Weights of another library for a const Inference.
// expect: names::load and names::save take a Trainer or an Inference that is a variable, not const; leave out const
// names: regimen::Inference<Net>
namespace names_take_a_variable_load {
struct Net : Model<Input<Vector<4>>, Linear<3>, Relu, Linear<2>> {};
constexpr auto theirs = names::list(names::layer("a"), names::layer("b"));

#ifndef REGIMEN_MISUSE
void read(Inference<Net>& model) { names::load<theirs>(model, "model.safetensors"); }
#else
void read(const Inference<Net>& model) { names::load<theirs>(model, "model.safetensors"); }
#endif
}  // namespace names_take_a_variable_load
// SPDX-License-Identifier: Apache-2.0
