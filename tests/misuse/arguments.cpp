// Arguments of Trainer: options, layers and types where a policy or the model belongs.
#include "support/model_recipe.hpp"

using namespace regimen;

// ---- argument_is_a_policy -------------------------------------------------------------------------------------------
// A schedule where a policy belongs.
// expect: Every<N> is a schedule, not a policy; write Checkpoint<Every<N>>
// names: regimen::Every<2>
namespace argument_is_a_policy {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<2>>>;
#else
using Train = Trainer<Net, Every<2>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy

// ---- argument_is_a_policy_axis --------------------------------------------------------------------------------------
// A user's policy for an axis that nothing reads.
// expect: nothing reads the axis of this policy; take it out, or decide an axis of regimen::axis
// names: Sampling
namespace argument_is_a_policy_axis {
struct Sampling final {
  using axis = Sampling;
};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Sampling>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_axis

// ---- argument_is_a_policy_bound -------------------------------------------------------------------------------------
// A bound where a policy belongs.
// expect: Norm<\.\.\.> is a bound, not a policy; write Clip<Norm<Ratio<1>>>
// names: regimen::Norm<regimen::in_order::Ratio<1
namespace argument_is_a_policy_bound {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Clip<Norm<Ratio<1>>>>;
#else
using Train = Trainer<Net, Norm<Ratio<1>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_bound

// ---- argument_is_a_policy_communicator ------------------------------------------------------------------------------
// A communicator where a policy belongs.
// expect: Solo and the others are communicators, not policies; write Communicator<Solo>
// names: regimen::Solo
namespace argument_is_a_policy_communicator {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Solo>>;
#else
using Train = Trainer<Net, Solo>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_communicator

// ---- argument_is_a_policy_convolution -------------------------------------------------------------------------------
// A form of convolution without its policy.
// expect: Direct and Cudnn are forms, not policies; write Convolution<Cudnn>
// names: regimen::Direct
namespace argument_is_a_policy_convolution {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Convolution<>>;
#else
using Train = Trainer<Net, Direct>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_convolution

// ---- argument_is_a_policy_device ------------------------------------------------------------------------------------
// A device where a policy belongs.
// expect: Cpu and Cuda are devices, not policies; write Device<Cpu>
// names: regimen::Cpu
namespace argument_is_a_policy_device {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Device<Cpu>>;
#else
using Train = Trainer<Net, Cpu>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_device

// ---- argument_is_a_policy_form --------------------------------------------------------------------------------------
// A form of attention without its policy.
// expect: Tiled, Composed and Cudnn are forms, not policies; write Attention<Composed>
// names: regimen::Tiled
namespace argument_is_a_policy_form {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Attention<Tiled>>;
#else
using Train = Trainer<Net, Tiled>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_form

// ---- argument_is_a_policy_layer -------------------------------------------------------------------------------------
// A layer among the policies.
// expect: a layer is a part of the model, not a policy; write it inside Model<\.\.\.>
// names: regimen::Linear<4>
namespace argument_is_a_policy_layer {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Linear<4>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_layer

// ---- argument_is_a_policy_loss --------------------------------------------------------------------------------------
// A loss function where a policy belongs.
// expect: a loss function is an option, not a policy; write Loss<\.\.\.> around it
// names: regimen::CrossEntropy
namespace argument_is_a_policy_loss {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<CrossEntropy>>;
#else
using Train = Trainer<Net, CrossEntropy>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_loss

// ---- argument_is_a_policy_model -------------------------------------------------------------------------------------
// A second model.
// expect: a Trainer trains one model; write it first and once, then the policies
// names: regimen::Net
namespace argument_is_a_policy_model {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Net>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_model

// ---- argument_is_a_policy_none --------------------------------------------------------------------------------------
// None without the policy that it switches off.
// expect: None is an option, not a policy; write Checkpoint<None>, Clip<None>, or leave it out
// names: regimen::None
namespace argument_is_a_policy_none {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<None>>;
#else
using Train = Trainer<Net, None>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_none

// ---- argument_is_a_policy_nothing -----------------------------------------------------------------------------------
// A type that has nothing to do with training.
// expect: this argument of Trainer decides nothing; write a policy, such as Batch<32> or Optimizer<AdamW>
// names: int
namespace argument_is_a_policy_nothing {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, int>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_nothing

// ---- argument_is_a_policy_selective ---------------------------------------------------------------------------------
// A selection where a policy belongs.
// expect: Selective<\.\.\.> is a schedule, not a policy; write Checkpoint<Selective<\.\.\.>>
// names: regimen::Selective<regimen::Linear<4>>
namespace argument_is_a_policy_selective {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Selective<Linear<4>>>>;
#else
using Train = Trainer<Net, Selective<Linear<4>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_selective

// ---- argument_is_a_policy_stage -------------------------------------------------------------------------------------
// A stage of sharding where a policy belongs.
// expect: ZeRO3 and the others are stages, not policies; write Shard<\.\.\.> around them
// names: regimen::Replicated
namespace argument_is_a_policy_stage {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Shard<Replicated>>;
#else
using Train = Trainer<Net, Replicated>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_stage

// ---- argument_is_a_policy_target ------------------------------------------------------------------------------------
// A target where a policy belongs.
// expect: a target is an option, not a policy; write Target<\.\.\.> around it
// names: regimen::targets::h200
namespace argument_is_a_policy_target {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Target<targets::h200>>;
#else
using Train = Trainer<Net, targets::h200>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_target

// ---- argument_is_a_policy_update_rule -------------------------------------------------------------------------------
// An update rule where a policy belongs.
// expect: an update rule is an option, not a policy; write Optimizer<\.\.\.> around it
// names: regimen::AdamW
namespace argument_is_a_policy_update_rule {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<AdamW>>;
#else
using Train = Trainer<Net, AdamW>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace argument_is_a_policy_update_rule

// ---- model_comes_first ----------------------------------------------------------------------------------------------
// A policy before the model.
// expect: the model comes first; write Trainer<Model, Policies\.\.\.>
// names: regimen::Batch<8>
namespace model_comes_first {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Batch<8>, Net>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace model_comes_first

// ---- model_comes_first_layer ----------------------------------------------------------------------------------------
// A layer in place of a model.
// expect: Trainer begins with a model; write struct Net : Model<Input<\.\.\.>, Layers\.\.\.> {}, and Trainer<Net>
// names: regimen::Linear<4>
namespace model_comes_first_layer {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Linear<4>> {};
using Train = Trainer<Small, Batch<8>>;
#else
using Train = Trainer<Linear<4>, Batch<8>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace model_comes_first_layer

// ---- one_policy_per_axis --------------------------------------------------------------------------------------------
// Two policies of one axis.
// expect: two policies decide the same axis; keep one of them
// names: regimen::Batch<8>,regimen::Batch<16>
// names: regimen::axis::batch
namespace one_policy_per_axis {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<bf16, fp32>, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Precision<bf16, fp32>, Batch<16>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace one_policy_per_axis
// SPDX-License-Identifier: Apache-2.0
