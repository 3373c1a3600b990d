// Two losses for one output.
// expect: SumOf has a loss for each branch of Fork<Outputs, \.\.\.>, the last layer; write as many of both
// names: regimen::SumOf<regimen::CrossEntropy, regimen::MeanSquaredError>
#include "../support/model_recipe.hpp"

#include <regimen/layer/join.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/sum_of.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>> {};
#else
struct Small : Model<Input<Vector<8>>, Linear<4>> {};
#endif

using Train = Trainer<Small, Loss<SumOf<CrossEntropy, MeanSquaredError>>>;

int main() { return sizeof(Train) == 0; }
