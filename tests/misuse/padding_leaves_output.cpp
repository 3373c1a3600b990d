// Padding of four lines of seven.
// expect: the padding of ConvTranspose2d takes off all of its output; let Padding<N> be smaller
// names: ConvTranspose2d<8
#include "../support/model_recipe.hpp"

#include <regimen/layer/conv_transpose.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 3, Stride<2>, Padding<3>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 3, Stride<2>, Padding<4>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
