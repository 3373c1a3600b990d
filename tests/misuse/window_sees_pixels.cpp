// As much padding as window.
// expect: a window of this pool lies in the padding alone; let Padding<N> be less than the size of the window
// names: AveragePool<2
#include "../support/model_recipe.hpp"

#include <regimen/layer/pool.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 7, 3>>, AveragePool<2, Padding<1>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 7, 3>>, AveragePool<2, Padding<2>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
