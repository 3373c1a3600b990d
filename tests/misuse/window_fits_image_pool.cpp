// A window of nine pixels of six.
// expect: a window is larger than the padded input; make the window smaller, or add Padding<N>
// names: regimen::Shape<6, 7, 3>
#include "../support/model_recipe.hpp"

#include <regimen/layer/pool.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 7, 3>>, AveragePool<9, Padding<2>, Stride<1>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 7, 3>>, AveragePool<9, Stride<1>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
