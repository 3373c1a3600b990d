// Losses: what they read, and their numbers.
#include "support/model_recipe.hpp"

#include <regimen/layer/join.hpp>
#include <regimen/layer/softmax.hpp>
#include <regimen/loss/masked.hpp>
#include <regimen/loss/nt_xent.hpp>
#include <regimen/loss/pointwise.hpp>
#include <regimen/loss/sample_weighted.hpp>
#include <regimen/loss/sum_of.hpp>

#include <ratio>

using namespace regimen;

// ---- loss_accepts_output --------------------------------------------------------------------------------------------
// Two classes in one number: the softmax of one logit is always 1.
// expect: this loss does not read such an output; write another Loss<\.\.\.>, or another last layer
// names: regimen::CrossEntropy
// names: regimen::Shape<1>
namespace loss_accepts_output {
struct Yes : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<1>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Yes, Loss<MeanSquaredError>>;
#else
using Train = Trainer<Yes, Loss<CrossEntropy>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace loss_accepts_output

// ---- losses_match_outputs -------------------------------------------------------------------------------------------
// One loss for two outputs.
// expect: SumOf has a loss for each branch of Fork<Outputs, \.\.\.>, the last layer; write as many of both
// names: regimen::CrossEntropy
namespace losses_match_outputs {
struct Small : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Small, Loss<SumOf<CrossEntropy, MeanSquaredError>>>;
#else
using Train = Trainer<Small, Loss<CrossEntropy>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace losses_match_outputs

// ---- losses_match_outputs_sum ---------------------------------------------------------------------------------------
// Two losses for one output.
// expect: SumOf has a loss for each branch of Fork<Outputs, \.\.\.>, the last layer; write as many of both
// names: regimen::SumOf<regimen::CrossEntropy, regimen::MeanSquaredError>
namespace losses_match_outputs_sum {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>> {};
#else
struct Small : Model<Input<Vector<8>>, Linear<4>> {};
#endif

using Train = Trainer<Small, Loss<SumOf<CrossEntropy, MeanSquaredError>>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace losses_match_outputs_sum

// ---- outputs_come_last ----------------------------------------------------------------------------------------------
// A layer behind the outputs.
// expect: Outputs joins what losses read; write Fork<Outputs, \.\.\.> once, as the last layer of the model
// names: Small
namespace outputs_come_last {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Relu, Fork<Outputs, Linear<4>, Linear<2>>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>, Relu> {};
#endif

using Train = Trainer<Small, Loss<SumOf<CrossEntropy, MeanSquaredError>>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace outputs_come_last

// ---- weight_above_zero ----------------------------------------------------------------------------------------------
// A loss that is to count for nothing.
// expect: the weight of a loss is above 0; write Weighted<Loss, Ratio<1, 2>>, or leave it out
// names: regimen::in_order::Ratio<0
namespace weight_above_zero {
struct Small : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Small, Loss<SumOf<CrossEntropy, Weighted<MeanSquaredError, Ratio<1, 2>>>>>;
#else
using Train = Trainer<Small, Loss<SumOf<CrossEntropy, Weighted<MeanSquaredError, Ratio<0>>>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace weight_above_zero

// ---- summed_stands_outside ------------------------------------------------------------------------------------------
// A sum among losses that are divided by the same number of samples.
// expect: Summed<\.\.\.> stands directly in Loss<\.\.\.>; write Loss<Summed<SumOf<\.\.\.>>>, or Weighted<\.\.\.> inside
// names: regimen::Summed<regimen::CrossEntropy>
namespace summed_stands_outside {
struct Two : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Two, Loss<Summed<SumOf<CrossEntropy, MeanSquaredError>>>>;
#else
using Train = Trainer<Two, Loss<SumOf<Summed<CrossEntropy>, MeanSquaredError>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace summed_stands_outside

// ---- sample_weighted_stands_outside ---------------------------------------------------------------------------------
// Weights of samples for one of two losses, which are divided by the same number of samples.
// expect: SampleWeighted<\.\.\.> stands directly in Loss<\.\.\.> or Summed<\.\.\.>; in SumOf write Weighted<Loss, Ratio>
// names: regimen::SampleWeighted<regimen::CrossEntropy>
namespace sample_weighted_stands_outside {
struct Two : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Two, Loss<SumOf<Weighted<CrossEntropy, Ratio<2>>, MeanSquaredError>>>;
#else
using Train = Trainer<Two, Loss<SumOf<SampleWeighted<CrossEntropy>, MeanSquaredError>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace sample_weighted_stands_outside

// ---- sample_weighted_takes_loss -------------------------------------------------------------------------------------
// Weights for a loss that compares samples with each other.
// expect: SampleWeighted<\.\.\.> takes a loss of single targets, such as CrossEntropy; write one, or leave it out
// names: regimen::NtXent
namespace sample_weighted_takes_loss {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<SampleWeighted<CrossEntropy>>>;
#else
using Train = Trainer<Net, Loss<SampleWeighted<NtXent<>>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace sample_weighted_takes_loss

// ---- masked_takes_loss ----------------------------------------------------------------------------------------------
// A mask for a loss of classes, which leaves out ignore_index by itself.
// expect: Masked<\.\.\.> takes a loss of numbers, such as MeanSquaredError; in CrossEntropy write ignore_index
// names: regimen::CrossEntropy
namespace masked_takes_loss {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<CrossEntropy>>;
#else
using Train = Trainer<Net, Loss<Masked<CrossEntropy>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace masked_takes_loss

// ---- logits_take_both_signs -----------------------------------------------------------------------------------------
// An activation behind the last product of a classifier.
// expect: this loss takes logits of both signs, and the last layer gives none below 0; leave it out
// names: regimen::Relu
namespace logits_take_both_signs {
#ifndef REGIMEN_MISUSE
struct Classifier : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Classifier : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>, Relu> {};
#endif

using Train = Trainer<Classifier>;

bool program() { return sizeof(Train) == 0; }
}  // namespace logits_take_both_signs

// ---- sigmoid_is_in_the_loss -----------------------------------------------------------------------------------------
// Questions with the answers yes and no, and a model that ends with Sigmoid.
// expect: BinaryCrossEntropy takes logits, of which it computes the sigmoid itself; leave out the last Sigmoid
// names: regimen::Sigmoid
namespace sigmoid_is_in_the_loss {
#ifndef REGIMEN_MISUSE
struct Questions : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Questions : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>, Sigmoid> {};
#endif

using Train = Trainer<Questions, Loss<BinaryCrossEntropy>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace sigmoid_is_in_the_loss

// ---- softmax_is_in_the_loss -----------------------------------------------------------------------------------------
// A classifier that ends with Softmax, as one that is written for Keras does.
// expect: a cross-entropy takes logits, of which it computes the softmax itself; leave out the last Softmax
// names: regimen::Softmax
namespace softmax_is_in_the_loss {
#ifndef REGIMEN_MISUSE
struct Classifier : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Classifier : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>, Softmax> {};
#endif

using Train = Trainer<Classifier>;

bool program() { return sizeof(Train) == 0; }
}  // namespace softmax_is_in_the_loss

// ---- softmax_is_in_the_loss_sum -------------------------------------------------------------------------------------
// Two outputs; the branch of classes ends with Softmax.
// expect: a cross-entropy takes logits, of which it computes the softmax itself; leave out the last Softmax
// names: regimen::SmoothedCrossEntropy<regimen::in_order::Ratio<1, 10>>
namespace softmax_is_in_the_loss_sum {
#ifndef REGIMEN_MISUSE
using Classes = Linear<4>;
#else
using Classes = Sequential<Linear<4>, Softmax>;
#endif
struct Both : Model<Input<Vector<8>>, Linear<16>, Relu, Fork<Outputs, Classes, Linear<2>>> {};

using Train = Trainer<Both, Loss<SumOf<SmoothedCrossEntropy<Ratio<1, 10>>, MeanSquaredError>>>;

bool program() { return sizeof(Train) == 0; }
}  // namespace softmax_is_in_the_loss_sum

// ---- smoothing_below_one --------------------------------------------------------------------------------------------
// A smoothing above one: the label would have a negative share, and the loss no minimum.
// expect: SmoothedCrossEntropy<Ratio<\.\.\.>> smooths by at least 0 and less than 1; write Ratio<1, 10>
// names: regimen::in_order::Ratio<3, 2>
namespace smoothing_below_one {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<SmoothedCrossEntropy<Ratio<1, 10>>>>;
#else
using Train = Trainer<Net, Loss<SmoothedCrossEntropy<Ratio<3, 2>>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace smoothing_below_one

// ---- fraction_is_a_ratio_smoothing ----------------------------------------------------------------------------------
// The fraction of another library, in a loss.
// expect: this fraction is no regimen::Ratio; write Ratio<1, 10> for a tenth
// names: std::ratio<1, 10>
namespace fraction_is_a_ratio_smoothing {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<SmoothedCrossEntropy<Ratio<1, 10>>>>;
#else
using Train = Trainer<Net, Loss<SmoothedCrossEntropy<std::ratio<1, 10>>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace fraction_is_a_ratio_smoothing

// ---- delta_above_zero -----------------------------------------------------------------------------------------------
// A bound of zero.
// expect: Huber<Ratio<\.\.\.>> is quadratic up to a bound above zero; write Huber<Ratio<1>>
// names: regimen::in_order::Ratio<0
namespace delta_above_zero {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<Huber<Ratio<1, 2>>>>;
#else
using Train = Trainer<Net, Loss<Huber<Ratio<0>>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace delta_above_zero

// ---- temperature_above_zero -----------------------------------------------------------------------------------------
// A temperature of zero.
// expect: NtXent<Ratio<\.\.\.>> divides by a temperature above zero; write NtXent<Ratio<1, 2>>
// names: regimen::in_order::Ratio<0
namespace temperature_above_zero {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<NtXent<Ratio<1, 10>>>>;
#else
using Train = Trainer<Net, Loss<NtXent<Ratio<0>>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace temperature_above_zero
// SPDX-License-Identifier: Apache-2.0
