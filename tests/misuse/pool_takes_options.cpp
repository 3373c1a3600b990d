// A pool with the dilation of a convolution.
// expect: MaxPool<N> and AveragePool<N> take Stride<N> and Padding<N>; write each at most once, and no other
// names: MaxPool<3
#include "../support/model_recipe.hpp"

#include <regimen/layer/conv.hpp>
#include <regimen/layer/pool.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Image<6, 7, 3>>, MaxPool<3, Stride<2>, Padding<1>>, MeanPool, Linear<4>> {};
#else
struct Small : Model<Input<Image<6, 7, 3>>, MaxPool<3, Stride<2>, Dilation<2>>, MeanPool, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
