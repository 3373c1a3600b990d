// Options of policies: types where others belong, and a device without its header.
#include "support/model_recipe.hpp"

#include <regimen/optimizer/averaged.hpp>
#include <regimen/optimizer/muon.hpp>
#include <regimen/optimizer/sgd.hpp>
#include <regimen/optimizer/split.hpp>

using namespace regimen;

// ---- policy_takes_option --------------------------------------------------------------------------------------------
// An element type in place of a schedule.
// expect: Checkpoint<\.\.\.> takes schedules; name None, Every<N>, Selective<\.\.\.>, If<P>, KeepLast<K>, Offload or Budget<B>
// names: regimen::bf16
namespace policy_takes_option {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<2>>>;
#else
using Train = Trainer<Net, Checkpoint<bf16>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace policy_takes_option

// ---- policy_takes_option_accumulate ---------------------------------------------------------------------------------
// Another type in place of ReduceOnce or ReduceEach.
// expect: Accumulate<N, \.\.\.> takes when to reduce; name ReduceOnce or ReduceEach, or leave it out
// names: regimen::Every<2>
namespace policy_takes_option_accumulate {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Accumulate<4, ReduceEach>>;
#else
using Train = Trainer<Net, Accumulate<4, Every<2>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace policy_takes_option_accumulate

// ---- policy_takes_option_bound --------------------------------------------------------------------------------------
// A bound without its norm.
// expect: Clip<\.\.\.> takes a bound; name None or Norm<Ratio<\.\.\.>>
// names: regimen::in_order::Ratio<1
namespace policy_takes_option_bound {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Clip<Norm<Ratio<1>>>>;
#else
using Train = Trainer<Net, Clip<Ratio<1>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace policy_takes_option_bound

// ---- policy_takes_option_convolution --------------------------------------------------------------------------------
// An option of attention as the form in which a device computes convolutions.
// expect: Convolution<\.\.\.> takes a form; name Direct or Cudnn
// names: regimen::Causal
namespace policy_takes_option_convolution {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Convolution<>>;
#else
using Train = Trainer<Net, Convolution<Causal>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace policy_takes_option_convolution

// ---- policy_takes_option_element_type -------------------------------------------------------------------------------
// An element type that does not exist.
// expect: Precision<\.\.\.> takes element types; name fp64, fp32, tf32, bf16 or fp16
// names: int
namespace policy_takes_option_element_type {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp32>>;
#else
using Train = Trainer<Net, Precision<int>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace policy_takes_option_element_type

// ---- policy_takes_option_form ---------------------------------------------------------------------------------------
// The heads of a layer as the form in which a device computes attention.
// expect: Attention<\.\.\.> takes a form; name Tiled, Composed or Cudnn
// names: regimen::Causal
namespace policy_takes_option_form {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Attention<Tiled>>;
#else
using Train = Trainer<Net, Attention<Causal>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace policy_takes_option_form

// ---- policy_takes_option_loss ---------------------------------------------------------------------------------------
// An update rule where a loss belongs.
// expect: Loss<\.\.\.> takes a loss function; name one, such as CrossEntropy
// names: regimen::AdamW
namespace policy_takes_option_loss {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Loss<CrossEntropy>, Optimizer<AdamW>>;
#else
using Train = Trainer<Net, Loss<AdamW>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace policy_takes_option_loss

// ---- policy_takes_option_loss_scale ---------------------------------------------------------------------------------
// A loss scale as a bare type.
// expect: LossScale<\.\.\.> takes a loss scale; name None, Static<N> or Dynamic
// names: regimen::Every<2>
namespace policy_takes_option_loss_scale {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Dynamic>>;
#else
using Train = Trainer<Net, Precision<fp16, fp32>, LossScale<Every<2>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace policy_takes_option_loss_scale

// ---- policy_takes_option_target -------------------------------------------------------------------------------------
// A user's target without memory.
// expect: Target<T> reads name, memory and supports of T; give T all of them
// names: Board
namespace policy_takes_option_target {
#ifndef REGIMEN_MISUSE
struct Board final {
  static constexpr const char* name = "board";
  static constexpr std::size_t memory = 512_MiB;
  template <class T>
  static constexpr bool supports = true;
};
using Train = Trainer<Net, Target<Board>>;
#else
struct Board final {
  static constexpr const char* name = "board";
  template <class T>
  static constexpr bool supports = true;
};
using Train = Trainer<Net, Target<Board>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace policy_takes_option_target

// ---- policy_takes_option_update_rule --------------------------------------------------------------------------------
// A loss where an update rule belongs.
// expect: Optimizer<\.\.\.> takes an update rule; name one, such as AdamW
// names: regimen::CrossEntropy
namespace policy_takes_option_update_rule {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<AdamW>, Loss<CrossEntropy>>;
#else
using Train = Trainer<Net, Optimizer<CrossEntropy>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace policy_takes_option_update_rule

// ---- epilogue_takes_switch ------------------------------------------------------------------------------------------
// A switch of Fusion, for Epilogue.
// expect: Epilogue<\.\.\.> takes a switch; name Fused or Separate
// names: regimen::Unfused
namespace epilogue_takes_switch {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Fusion<Unfused>>;
#else
using Train = Trainer<Net, Epilogue<Unfused>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace epilogue_takes_switch

// ---- decay_chooses_parameters ---------------------------------------------------------------------------------------
// A number where Optimizer takes what decays.
// expect: the second option of Optimizer<\.\.\.> says what decays; name DecayAll, or leave it out for products alone
// names: regimen::in_order::Ratio<1, 10>
namespace decay_chooses_parameters {
struct Small : Model<Input<Vector<8>>, Linear<4>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Small, Optimizer<AdamW, DecayAll>>;
#else
using Train = Trainer<Small, Optimizer<AdamW, Ratio<1, 10>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace decay_chooses_parameters

// ---- average_keeps_a_share ------------------------------------------------------------------------------------------
// An average that would never move.
// expect: Averaged<\.\.\.> keeps a share of at least 0 and below 1; write Averaged<AdamW, Ratio<999, 1000>>
// names: Ratio<1
namespace average_keeps_a_share {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<Averaged<AdamW, Ratio<999, 1000>>>>;
#else
using Train = Trainer<Net, Optimizer<Averaged<AdamW, Ratio<1>>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace average_keeps_a_share

// ---- split_ends_with_rest -------------------------------------------------------------------------------------------
// A Split of update rules, which says nothing of parameters.
// expect: Split<\.\.\.> lacks groups; give it up to three, such as Matrices<Muon>, and end with Rest<AdamW>
// names: Split<regimen::Muon, regimen::AdamW
namespace split_ends_with_rest {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<Split<Matrices<Muon>, Rest<AdamW>>>>;
#else
using Train = Trainer<Net, Optimizer<Split<Muon, AdamW>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace split_ends_with_rest

// ---- group_takes_a_parameter ----------------------------------------------------------------------------------------
// A group for a layer that the model lacks.
// expect: a group of Split<\.\.\.> gets no parameter that trains; name others, or leave it out
// names: Linear<77
namespace group_takes_a_parameter {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Optimizer<Split<OfLayer<Linear<4>, Sgd>, Rest<AdamW>>>>;
#else
using Train = Trainer<Net, Optimizer<Split<OfLayer<Linear<77>, Sgd>, Rest<AdamW>>>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace group_takes_a_parameter

// ---- device_is_included ---------------------------------------------------------------------------------------------
// A device whose header is not included.
// expect: this Device<\.\.\.> has no engine here; include its header \(regimen/engine/cuda/device\.hpp for Cuda\)
// names: regimen::Device<regimen::Cuda>
namespace device_is_included {
#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Device<Cpu>>;
#else
using Train = Trainer<Net, Device<Cuda>>;
#endif

bool program() { return sizeof(Train) == 0; }
}  // namespace device_is_included
// SPDX-License-Identifier: Apache-2.0
