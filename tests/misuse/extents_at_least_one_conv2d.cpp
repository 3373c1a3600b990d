// A convolution that never moves on.
// expect: this layer has an extent of zero; write extents of at least one
// names: regimen::in_order::Conv2d<8, 3
#include "../support/model_recipe.hpp"

#include <regimen/layer/cast.hpp>
#include <regimen/layer/conv.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Stride<1>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 3>>, Conv2d<8, 3, Stride<0>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
