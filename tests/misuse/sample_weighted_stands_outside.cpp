// Weights of samples for one of two losses, which are divided by the same number of samples.
// expect: SampleWeighted<\.\.\.> stands directly in Loss<\.\.\.> or Summed<\.\.\.>; in SumOf write Weighted<Loss, Ratio>
// names: regimen::SampleWeighted<regimen::CrossEntropy>
#include "../support/recipe.hpp"

#include <regimen/layer/join.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/sample_weighted.hpp>
#include <regimen/loss/sum_of.hpp>

using namespace regimen;

struct Two : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>> {};

#ifndef REGIMEN_MISUSE
using Train = Trainer<Two, Loss<SumOf<Weighted<CrossEntropy, Ratio<2>>, MeanSquaredError>>>;
#else
using Train = Trainer<Two, Loss<SumOf<SampleWeighted<CrossEntropy>, MeanSquaredError>>>;
#endif

int main() { return sizeof(Train) == 0; }
