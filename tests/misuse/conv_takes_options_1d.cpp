// Two paddings.
// expect: a convolution takes Stride<N>, one padding, Dilation<N>, Groups<N> and NoBias; write each at most once
// names: regimen::in_order::Conv1d<8, 3
#include "../support/model_recipe.hpp"

#include <regimen/layer/cast.hpp>
#include <regimen/layer/conv1d.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Series<6, 3>>, Conv1d<8, 3, CausalPadding>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Series<6, 3>>, Conv1d<8, 3, CausalPadding, Padding<1>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
