// A sum among losses that are divided by the same number of samples.
// expect: Summed<\.\.\.> stands directly in Loss<\.\.\.>; write Loss<Summed<SumOf<\.\.\.>>>, or Weighted<\.\.\.> inside
// names: regimen::Summed<regimen::CrossEntropy>
#include "../support/recipe.hpp"

#include <regimen/layer/join.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/sum_of.hpp>

using namespace regimen;

struct Two : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Two, Loss<Summed<SumOf<CrossEntropy, MeanSquaredError>>>>;
#else
using Train = Trainer<Two, Loss<SumOf<Summed<CrossEntropy>, MeanSquaredError>>>;
#endif

int main() { return sizeof(Train) == 0; }
