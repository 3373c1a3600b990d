// Norms: their options, groups, and biases before them.
#include "support/model_recipe.hpp"

#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>
#include <regimen/layer/group_norm.hpp>

using namespace regimen;

// ---- batch_norm_takes_option ----------------------------------------------------------------------------------------
// An option of another layer.
// expect: BatchNorm takes Epsilon, Momentum, PerMicroBatch, OverRanks, AfterBias, each at most once; write no other
// names: regimen::Causal
namespace batch_norm_takes_option {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, BatchNorm<PerMicroBatch, Momentum<Ratio<1, 100>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, BatchNorm<Causal>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace batch_norm_takes_option

// ---- batch_norm_takes_option_twice ----------------------------------------------------------------------------------
// Two momenta, of which one would be ignored.
// expect: BatchNorm takes Epsilon, Momentum, PerMicroBatch, OverRanks, AfterBias, each at most once; write no other
// names: regimen::in_order::BatchNorm<regimen::Momentum<regimen::in_order::Ratio<1, 10>>, regimen::Momentum<regimen::in_order::Ratio<1, 100>>>
namespace batch_norm_takes_option_twice {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, BatchNorm<Momentum<Ratio<1, 10>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, BatchNorm<Momentum<Ratio<1, 10>>, Momentum<Ratio<1, 100>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace batch_norm_takes_option_twice

// ---- momentum_in_range ----------------------------------------------------------------------------------------------
// Keras' momentum is the share of the old statistics; a percentage is no share.
// expect: Momentum<\.\.\.> is the new batch's share, above 0 and at most 1; write Momentum<Ratio<1, 10>>
// names: regimen::in_order::Ratio<99
namespace momentum_in_range {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, BatchNorm<Momentum<Ratio<1, 100>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, BatchNorm<Momentum<Ratio<99>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace momentum_in_range

// ---- epsilon_above_zero ---------------------------------------------------------------------------------------------
// An epsilon of zero.
// expect: Epsilon<\.\.\.> takes a Ratio above zero; write Epsilon<Ratio<1, 1'000'000>>
// names: regimen::in_order::Ratio<0
namespace epsilon_above_zero {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, LayerNormWith<Epsilon<Ratio<1, 1'000'000>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, LayerNormWith<Epsilon<Ratio<0>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace epsilon_above_zero

// ---- group_norm_takes_option ----------------------------------------------------------------------------------------
// An option of another layer.
// expect: GroupNorm<N> takes Epsilon<\.\.\.> at most once; write no other option
// names: regimen::PerMicroBatch
namespace group_norm_takes_option {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, GroupNorm<2, Epsilon<Ratio<1, 1000>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, GroupNorm<2, PerMicroBatch>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace group_norm_takes_option

// ---- norm_groups_divide_channels ------------------------------------------------------------------------------------
// Groups of different sizes.
// expect: GroupNorm<N> cuts the channels into N equal groups; write an N that divides the channels
// names: regimen::in_order::GroupNorm<3
namespace norm_groups_divide_channels {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<2, 2, 8>>, GroupNorm<4>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<2, 2, 8>>, GroupNorm<3>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace norm_groups_divide_channels

// ---- bias_is_felt ---------------------------------------------------------------------------------------------------
// A convolution with a bias, and BatchNorm.
// expect: a bias before BatchNorm has no effect, as the mean takes it off; write NoBias, or BatchNorm<AfterBias>
// names: regimen::in_order::BatchNorm<>
namespace bias_is_felt {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<8, 8, 3>>, Sequential<Conv2d<4, 3, NoBias>, BatchNorm<>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<8, 8, 3>>, Sequential<Conv2d<4, 3>, BatchNorm<>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace bias_is_felt

// ---- bias_is_felt_as ------------------------------------------------------------------------------------------------
// A layer in a wider type, with a bias, and BatchNorm.
// expect: a bias before BatchNorm has no effect, as the mean takes it off; write NoBias, or BatchNorm<AfterBias>
// names: regimen::As<
namespace bias_is_felt_as {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, As<fp32, Linear<8, NoBias>>, BatchNorm<>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, As<fp32, Linear<8>>, BatchNorm<>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace bias_is_felt_as

// ---- bias_is_felt_block ---------------------------------------------------------------------------------------------
// Blocks that end with a bias and begin with BatchNorm: the next block's takes it off.
// expect: a bias before BatchNorm has no effect, as the mean takes it off; write NoBias, or BatchNorm<AfterBias>
// names: regimen::in_order::BatchNorm<>
namespace bias_is_felt_block {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Repeat<3, Sequential<BatchNorm<>, Relu, Linear<8, NoBias>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Repeat<3, Sequential<BatchNorm<>, Relu, Linear<8>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace bias_is_felt_block

// ---- bias_is_felt_sum -----------------------------------------------------------------------------------------------
// Branches that end with biases, and BatchNorm behind their sum.
// expect: a bias before BatchNorm has no effect, as the mean takes it off; write NoBias, or BatchNorm<AfterBias>
// names: regimen::Fork<regimen::Add, regimen::Linear<8>
namespace bias_is_felt_sum {
#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Add, Linear<8, NoBias>, Linear<8, NoBias>>, BatchNorm<>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Add, Linear<8>, Linear<8>>, BatchNorm<>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

bool program() { return sizeof(Train) == 0; }
}  // namespace bias_is_felt_sum
// SPDX-License-Identifier: Apache-2.0
