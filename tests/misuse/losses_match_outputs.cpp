// One loss for two outputs.
// expect: SumOf has a loss for each branch of Fork<Outputs, \.\.\.>, the last layer; write as many of both
// names: regimen::CrossEntropy
#include "../support/model_recipe.hpp"

#include <regimen/layer/join.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/sum_of.hpp>

using namespace regimen;

struct Small : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Small, Loss<SumOf<CrossEntropy, MeanSquaredError>>>;
#else
using Train = Trainer<Small, Loss<CrossEntropy>>;
#endif

int main() { return sizeof(Train) == 0; }
