// A line more, where no stride leaves it open.
// expect: OutputPadding<N> chooses among sizes that Stride makes one; let N be less than the stride
// names: ConvTranspose2d<8
#include "../support/model_recipe.hpp"

#include <regimen/layer/conv_transpose.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 3, Stride<2>, OutputPadding<1>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<3, 4, 6>>, ConvTranspose2d<8, 3, OutputPadding<1>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
