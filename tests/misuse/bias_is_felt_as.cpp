// A layer in a wider type, with a bias, and BatchNorm.
// expect: a bias before BatchNorm has no effect, as the mean takes it off; write NoBias, or BatchNorm<AfterBias>
// names: regimen::As<
#include "../support/model_recipe.hpp"

#include <regimen/layer/batch_norm.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, As<fp32, Linear<8, NoBias>>, BatchNorm<>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, As<fp32, Linear<8>>, BatchNorm<>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
