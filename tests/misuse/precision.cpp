// Precision: element types, master weights, loss scales.
#include "support/model_recipe.hpp"

using namespace regimen;

// ---- argument_is_a_policy_as ----------------------------------------------------------------------------------------
// The override of one layer, where the precision of the model belongs.
// expect: As<T, Layer> wraps a layer inside the model; write Precision<T> to decide for all layers
// names: regimen::As<regimen::bf16,regimen::Linear<4>>
namespace argument_is_a_policy_as {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, As<bf16, Linear<4>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_as

// ---- argument_is_a_policy_element_type ------------------------------------------------------------------------------
// An element type where a policy belongs.
// expect: bf16 is an element type, not a policy; write Precision<bf16, fp32>
// names: regimen::bf16
namespace argument_is_a_policy_element_type {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, bf16>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_element_type

// ---- argument_is_a_policy_format ------------------------------------------------------------------------------------
// A number format that is not built, without its policy.
// expect: fp8 formats are not built, and no policies; write Precision<bf16, fp32>
// names: regimen::fp8_e5m2
namespace argument_is_a_policy_format {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, fp8_e5m2>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_format

// ---- argument_is_a_policy_loss_scale --------------------------------------------------------------------------------
// A loss scale where a policy belongs.
// expect: Static<N> and Dynamic are loss scales, not policies; write LossScale<Dynamic>
// names: regimen::Dynamic
namespace argument_is_a_policy_loss_scale {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Dynamic>>;
#else
using Train = Trainer<Net, Precision<fp16, fp32>, Dynamic>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_loss_scale

// ---- argument_is_a_policy_tf32 --------------------------------------------------------------------------------------
// What products read, without its policy.
// expect: tf32 is how products read fp32, not a policy; write Precision<tf32>
// names: regimen::tf32
namespace argument_is_a_policy_tf32 {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<tf32>>;
#else
using Train = Trainer<Net, tf32>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_tf32

// ---- as_fits_precision ----------------------------------------------------------------------------------------------
// One layer in fp64 under fp32 master weights.
// expect: As<T, \.\.\.> mixes fp64 with narrower types; compute all of the model in Precision<fp64>, or none
// names: regimen::Precision<
namespace as_fits_precision {
#ifndef REGIMEN_MISUSE
struct Mixed : Model<Input<Vector<8>>, As<bf16, Linear<4>>, Linear<4>> {};
#else
struct Mixed : Model<Input<Vector<8>>, As<fp64, Linear<4>>, Linear<4>> {};
#endif
using Train = Trainer<Mixed, Batch<4>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace as_fits_precision

// ---- as_fp16_needs_loss_scale ---------------------------------------------------------------------------------------
// One layer in fp16, without a loss scale.
// expect: As<fp16, \.\.\.> needs Precision<fp16, fp32> and LossScale<Dynamic>; write As<bf16, \.\.\.>, or add them
// names: regimen::fp16
namespace as_fp16_needs_loss_scale {
#ifndef REGIMEN_MISUSE
struct Mixed : Model<Input<Vector<8>>, As<bf16, Linear<4>>, Linear<4>> {};
#else
struct Mixed : Model<Input<Vector<8>>, As<fp16, Linear<4>>, Linear<4>> {};
#endif
using Train = Trainer<Mixed, Batch<4>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace as_fp16_needs_loss_scale

// ---- as_takes_element_type ------------------------------------------------------------------------------------------
// A layer before its element type.
// expect: As<T, Layers\.\.\.> computes in T; write fp64, fp32, tf32, bf16 or fp16 first, then the layers
// names: regimen::LayerNorm
namespace as_takes_element_type {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, As<fp32, LayerNorm>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, As<LayerNorm, fp32>, Linear<4>> {};
#endif

using Train = Trainer<Small, Precision<bf16, fp32>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace as_takes_element_type

// ---- element_type_is_built ------------------------------------------------------------------------------------------
// An 8-bit format, for which there are no kernels yet.
// expect: fp8 formats are not built; write Precision<bf16, fp32>
// names: regimen::fp8_e4m3
namespace element_type_is_built {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, Precision<fp8_e4m3, fp32>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace element_type_is_built

// ---- element_type_is_built_as ---------------------------------------------------------------------------------------
// An 8-bit format for one layer, for which there are no kernels yet.
// expect: fp8 formats are not built; write Precision<bf16, fp32>
// names: regimen::fp8_e5m2
namespace element_type_is_built_as {
#ifndef REGIMEN_MISUSE
struct Mlp : Model<Input<Vector<8>>, As<bf16, Linear<16>>, Linear<4>> {};
#else
struct Mlp : Model<Input<Vector<8>>, As<fp8_e5m2, Linear<16>>, Linear<4>> {};
#endif

using Train = Trainer<Mlp, Precision<bf16, fp32>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace element_type_is_built_as

// ---- final_output_at_least_fp32 -------------------------------------------------------------------------------------
// Logits in 16 bits.
// expect: As<T, \.\.\.> narrows the output of this model below fp32; take it off the last layer
// names: bf16
namespace final_output_at_least_fp32 {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, As<bf16, Linear<16>>, Linear<10>> {};
#else
struct Small : Model<Input<Vector<8>>, Linear<16>, As<bf16, Linear<10>>> {};
#endif

using Train = Trainer<Small, Precision<bf16, fp32>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace final_output_at_least_fp32

// ---- fp16_needs_loss_scale ------------------------------------------------------------------------------------------
// A recipe that computes in fp16 without a loss scale: gradients below 2^-24 would become zero.
// expect: Precision<fp16, \.\.\.> needs a loss scale; add LossScale<Dynamic>, or compute in bf16
// names: regimen::Precision<regimen::fp16,
// names: regimen::LossScale<
namespace fp16_needs_loss_scale {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Dynamic>>;
#else
using Train = Trainer<Net, Precision<fp16, fp32>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace fp16_needs_loss_scale

// ---- fp64_masters_need_fp64 -----------------------------------------------------------------------------------------
// Weights in fp64 that no product reads in fp64.
// expect: Precision<\.\.\., fp64> serves fp64 products alone; write Precision<\.\.\., fp32>, or Precision<fp64>
// names: regimen::Precision<regimen::bf16,
namespace fp64_masters_need_fp64 {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, Precision<bf16, fp64>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace fp64_masters_need_fp64

// ---- loss_scale_at_least_one ----------------------------------------------------------------------------------------
// A scale of zero: every gradient would be zero.
// expect: Static<N> and DynamicScale<N, Interval> need N >= 1 and Interval >= 1; write Static<1024>, or Dynamic
// names: regimen::LossScale<regimen::Static<0>>
namespace loss_scale_at_least_one {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Static<1024>>>;
#else
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Static<0>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace loss_scale_at_least_one

// ---- loss_scale_needs_fp16 ------------------------------------------------------------------------------------------
// A loss scale under bf16, whose exponents reach as low as fp32's: it would cost a pass and gain nothing.
// expect: LossScale<\.\.\.> serves fp16 alone; take it out, or compute in Precision<fp16, fp32>
// names: regimen::Precision<regimen::bf16,
// names: regimen::LossScale<regimen::Dynamic>
namespace loss_scale_needs_fp16 {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, Precision<bf16, fp32>, LossScale<Dynamic>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace loss_scale_needs_fp16

// ---- masters_are_not_half -------------------------------------------------------------------------------------------
// 16-bit master weights: updates below 2^-8 of a weight would be lost.
// expect: Precision<bf16> and Precision<fp16> would keep 16-bit weights; write Precision<bf16, fp32>
// names: regimen::Precision<regimen::bf16
namespace masters_are_not_half {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>>;
#else
using Train = Trainer<Net, Precision<bf16>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace masters_are_not_half

// ---- masters_as_wide_as_compute -------------------------------------------------------------------------------------
// Products in fp64 and weights in fp32: every update would be rounded to fp32.
// expect: Precision<fp64, \.\.\.> keeps fp64 weights; write Precision<fp64>, or Precision<fp32>
// names: regimen::Precision<
namespace masters_as_wide_as_compute {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp64>>;
#else
using Train = Trainer<Net, Precision<fp64, fp32>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace masters_as_wide_as_compute

// ---- reduce_in_compute_or_master ------------------------------------------------------------------------------------
// Gradients in bf16, weights in fp32, and a third type for sums of gradients.
// expect: Precision<\.\.\., \.\.\., Reduce> sums gradients in Compute or Master; name one, or leave Reduce out
// names: regimen::Precision<regimen::bf16,
namespace reduce_in_compute_or_master {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32, bf16>>;
#else
using Train = Trainer<Net, Precision<bf16, fp32, fp16>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace reduce_in_compute_or_master

// ---- scaled_gradients_reduce_in_fp32 --------------------------------------------------------------------------------
// Ranks that would sum scaled gradients in fp16.
// expect: ranks would add scaled gradients in 16 bits; write Precision<fp16, fp32, fp32>
// names: regimen::LossScale<regimen::Dynamic>
namespace scaled_gradients_reduce_in_fp32 {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp16, fp32, fp32>, LossScale<Dynamic>, Communicator<Threads>>;
#else
using Train = Trainer<Net, Precision<fp16, fp32, fp16>, LossScale<Dynamic>, Communicator<Threads>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace scaled_gradients_reduce_in_fp32

// ---- tf32_is_stored_as_fp32 -----------------------------------------------------------------------------------------
// Weights in a format that products read and nobody stores.
// expect: products read tf32, and nothing is stored in it; write Precision<tf32>
// names: Precision<regimen::tf32, regimen::tf32
namespace tf32_is_stored_as_fp32 {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<tf32>>;
#else
using Train = Trainer<Net, Precision<tf32, tf32>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace tf32_is_stored_as_fp32
// SPDX-License-Identifier: Apache-2.0
