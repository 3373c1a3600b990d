// A convolution with a bias, and BatchNorm.
// expect: a bias before BatchNorm has no effect, as the mean takes it off; write NoBias, or BatchNorm<AfterBias>
// names: regimen::in_order::BatchNorm<>
#include "../support/model_recipe.hpp"

#include <regimen/layer/batch_norm.hpp>
#include <regimen/layer/conv.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<8, 8, 3>>, Sequential<Conv2d<4, 3, NoBias>, BatchNorm<>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<8, 8, 3>>, Sequential<Conv2d<4, 3>, BatchNorm<>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
