// Two strides.
// expect: a convolution takes Stride<N>, one padding, Dilation<N>, Groups<N> and NoBias; write each at most once
// names: regimen::in_order::Conv2d<8, 3
#include "../support/model_recipe.hpp"

#include <regimen/layer/cast.hpp>
#include <regimen/layer/conv.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Stride<2>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Stride<2>, Stride<2>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
