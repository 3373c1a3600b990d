// Inference: a model that predicts and does not train.
#include <regimen/regimen.hpp>

#include <regimen/engine/emulated/device.hpp>
#include <regimen/tune/ensemble.hpp>

using namespace regimen;

// ---- inference_trains_nothing ---------------------------------------------------------------------------------------
// A program that only predicts, with an optimizer.
// expect: Inference trains nothing; keep Precision, Batch, Device, Target, Fusion, Attention, Convolution
// names: regimen::Optimizer<regimen::AdamW
namespace inference_trains_nothing {
struct Net : Model<Input<Vector<8>>, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Predict = Inference<Net, Batch<8>, Precision<bf16>>;
#else
using Predict = Inference<Net, Batch<8>, Optimizer<AdamW>, Precision<bf16>>;
#endif

int program() {
  Predict model("net.safetensors");
  return static_cast<int>(model.predict(std::vector<float>(8)).size());
}
}  // namespace inference_trains_nothing

// ---- inference_is_not_const -----------------------------------------------------------------------------------------
// A function that predicts with an Inference that it may not change.
// expect: a const Inference neither predicts nor loads; leave out const, or call its share\(\) for one
// names: regimen::Inference<Net>
namespace inference_is_not_const {
struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
float first(Inference<Net>& model, const std::vector<float>& inputs) { return model.predict(inputs)[0]; }
#else
float first(const Inference<Net>& model, const std::vector<float>& inputs) { return model.predict(inputs)[0]; }
#endif

int program() {
  Inference<Net> model("net.safetensors");
  return first(model, std::vector<float>(4)) > 0;
}
}  // namespace inference_is_not_const

// ---- inference_is_not_const_generate --------------------------------------------------------------------------------
// Text from an Inference that is const.
// expect: a const Inference neither predicts nor loads; leave out const, or call its share\(\) for one
// names: regimen::Inference<Net>
namespace inference_is_not_const_generate {
using Attend = SelfAttention<Heads<2>, Causal>;
struct Net : Model<Input<Tokens<8>>, Embedding<Vocabulary<16>, 8>, Residual<LayerNorm, Attend>, Linear<16>> {};

int program() {
#ifndef REGIMEN_MISUSE
  Inference<Net> model("net.safetensors");
#else
  const Inference<Net> model("net.safetensors");
#endif
  return generate(model, std::vector<std::int32_t>{1, 2}, 10).front();
}
}  // namespace inference_is_not_const_generate

// ---- inference_is_not_const_parameters ------------------------------------------------------------------------------
// The weights of an Inference that a function may not change.
// expect: a const Inference neither predicts nor loads; leave out const, or call its share\(\) for one
// names: regimen::Inference<Net>
namespace inference_is_not_const_parameters {
struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

#ifndef REGIMEN_MISUSE
std::size_t tensors(Inference<Net>& model) { return model.parameters().size(); }
#else
std::size_t tensors(const Inference<Net>& model) { return model.parameters().size(); }
#endif
}  // namespace inference_is_not_const_parameters

// ---- inference_is_not_copied ----------------------------------------------------------------------------------------
// A copy of an Inference, for another thread.
// expect: an Inference is not copied; share its weights by model\.share\(\), or std::move it
// names: regimen::Inference<Net>
namespace inference_is_not_copied {
struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

int program() {
  Inference<Net> model("net.safetensors");
#ifndef REGIMEN_MISUSE
  Inference<Net> other = model.share();
#else
  Inference<Net> other = model;
#endif
  return static_cast<int>(other.predict(std::vector<float>(4)).size());
}
}  // namespace inference_is_not_copied

// ---- borrows_no_temporary_parameters --------------------------------------------------------------------------------
// Views of the weights of an Inference that ends with the line.
// expect: what is returned refers to a temporary; give that a name, so that it lives as long
// names: regimen::Inference<Net>
namespace borrows_no_temporary_parameters {
struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};

void program() {
#ifndef REGIMEN_MISUSE
  Inference<Net> model("net.safetensors");
  for (const HeldParameter& parameter : model.parameters()) std::puts(parameter.name.c_str());
#else
  for (const HeldParameter& parameter : Inference<Net>("net.safetensors").parameters()) std::puts(parameter.name.c_str());
#endif
}
}  // namespace borrows_no_temporary_parameters

// ---- device_shares_weights ------------------------------------------------------------------------------------------
// Inferences on a GPU, emulated here, that share weights.
// expect: Inference::share shares memory of the host; load the file into one Inference for each thread
// names: regimen::Emulated
namespace device_shares_weights {
struct Net : Model<Input<Vector<4>>, Linear<8>, Relu, Linear<3>> {};
using Predict = Inference<Net, Device<Emulated>>;

int program() {
  Predict model("net.safetensors");
#ifndef REGIMEN_MISUSE
  Predict other("net.safetensors");
#else
  Predict other = model.share();
#endif
  return static_cast<int>(other.predict(std::vector<float>(4)).size());
}
}  // namespace device_shares_weights

// ---- fits_target_weights --------------------------------------------------------------------------------------------
// An Inference's weights are larger than the target, and in 16 bits they would fit.
// expect: the weights alone exceed the Target; write Precision<bf16>, or name a larger Target
// names: 3145728
// names: regimen::rule::Exceeds<
// names: 2125952
namespace fits_target_weights {
struct Wide : Model<Input<Vector<8>>, Linear<1024>, Relu, Linear<1024>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Served = Inference<Wide, Target<targets::host<3_MiB>>, Batch<1>, Precision<bf16>>;
#else
using Served = Inference<Wide, Target<targets::host<3_MiB>>, Batch<1>>;
#endif

bool program() { return sizeof(Served) == 0; }
}  // namespace fits_target_weights

// ---- fits_target_weights_alone --------------------------------------------------------------------------------------
// An Inference's weights are larger than the target, in 16 bits, too.
// expect: the weights alone exceed the Target; name a larger Target, or a smaller model
// names: 1048576
// names: regimen::rule::Exceeds<
// names: regimen::rule::WeightsAlone<0
namespace fits_target_weights_alone {
struct Wide : Model<Input<Vector<8>>, Linear<1024>, Relu, Linear<1024>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Served = Inference<Wide, Target<targets::host<8_MiB>>, Batch<1>>;
#else
using Served = Inference<Wide, Target<targets::host<1_MiB>>, Batch<1>>;
#endif

bool program() { return sizeof(Served) == 0; }
}  // namespace fits_target_weights_alone

// ---- members_agree --------------------------------------------------------------------------------------------------
// An ensemble of a model with ten classes, and one with eleven.
// expect: an ensemble averages Inferences of one input shape and one output shape; end every model alike
// names: Eleven
namespace members_agree {
struct Ten : Model<Input<Vector<8>>, Linear<10>> {};
struct Eleven : Model<Input<Vector<8>>, Linear<11>> {};

void program() {
#ifndef REGIMEN_MISUSE
  Ensemble<Inference<Ten>, Inference<Ten, Batch<4>>> both({"first.safetensors", "second.safetensors"});
#else
  Ensemble<Inference<Ten>, Inference<Eleven>> both({"first.safetensors", "second.safetensors"});
#endif
  both.probabilities(std::vector<float>(8));
  both.evaluate(Fake{{.samples = 64, .classes = 10}});
}
}  // namespace members_agree
// SPDX-License-Identifier: Apache-2.0
