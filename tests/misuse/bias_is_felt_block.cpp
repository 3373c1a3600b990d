// Blocks that end with a bias and begin with BatchNorm: the next block's takes it off.
// expect: a bias before BatchNorm has no effect, as the mean takes it off; write NoBias, or BatchNorm<AfterBias>
// names: regimen::in_order::BatchNorm<>
#include "../support/model_recipe.hpp"

#include <regimen/layer/batch_norm.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Repeat<3, Sequential<BatchNorm<>, Relu, Linear<8, NoBias>>>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Repeat<3, Sequential<BatchNorm<>, Relu, Linear<8>>>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
