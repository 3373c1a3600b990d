// Branches that end with biases, and BatchNorm behind their sum.
// expect: a bias before BatchNorm has no effect, as the mean takes it off; write NoBias, or BatchNorm<AfterBias>
// names: regimen::Fork<regimen::Add, regimen::Linear<8>
#include "../support/model_recipe.hpp"

#include <regimen/layer/batch_norm.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Add, Linear<8, NoBias>, Linear<8, NoBias>>, BatchNorm<>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Add, Linear<8>, Linear<8>>, BatchNorm<>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
