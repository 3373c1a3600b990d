// Groups that would not be equal.
// expect: Groups<N> cuts channels into equal runs; let N divide those of the layer and of its input
// names: regimen::Shape<6, 6, 8>
#include "../support/model_recipe.hpp"

#include <regimen/layer/cast.hpp>
#include <regimen/layer/conv.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 6, 8>>, Conv2d<12, 3, Groups<4>>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 6, 8>>, Conv2d<12, 3, Groups<3>>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
