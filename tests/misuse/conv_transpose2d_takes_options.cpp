// Two strides, of which one would be ignored.
// expect: ConvTranspose2d<N, Window> takes the options of Conv2d, and OutputPadding<N>; write each at most once
// names: ConvTranspose2d<8
#include "../support/model_recipe.hpp"

#include <regimen/layer/conv_transpose.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 2, Stride<2>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 2, Stride<2>, Stride<3>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
