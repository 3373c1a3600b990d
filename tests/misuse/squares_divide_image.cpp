// Patches that leave a margin.
// expect: Patches<N>, MaxPool<N>, AveragePool<N> and Downsample<N> cut images into squares; let N divide height and width
// names: regimen::Shape<6, 9, 3>
#include "../support/model_recipe.hpp"

#include <regimen/layer/patches.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 9, 3>>, Patches<3>, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 9, 3>>, Patches<2>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
