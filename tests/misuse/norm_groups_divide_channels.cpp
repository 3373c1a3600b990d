// Groups of different sizes.
// expect: GroupNorm<N> cuts the channels into N equal groups; write an N that divides the channels
// names: regimen::in_order::GroupNorm<3
#include "../support/model_recipe.hpp"

#include <regimen/layer/group_norm.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<2, 2, 8>>, GroupNorm<4>, Flatten, Linear<4>> {};
#else
struct Small : Model<Input<Image<2, 2, 8>>, GroupNorm<3>, Flatten, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
