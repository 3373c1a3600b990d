// A loss that is to count for nothing.
// expect: the weight of a loss is above 0; write Weighted<Loss, Ratio<1, 2>>, or leave it out
// names: regimen::in_order::Ratio<0
#include "../support/model_recipe.hpp"

#include <regimen/layer/join.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/sum_of.hpp>

using namespace regimen;

struct Small : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Small, Loss<SumOf<CrossEntropy, Weighted<MeanSquaredError, Ratio<1, 2>>>>>;
#else
using Train = Trainer<Small, Loss<SumOf<CrossEntropy, Weighted<MeanSquaredError, Ratio<0>>>>>;
#endif

int main() { return sizeof(Train) == 0; }
