// A layer behind the outputs.
// expect: Outputs joins what losses read; write Fork<Outputs, \.\.\.> once, as the last layer of the model
// names: Small
#include "../support/model_recipe.hpp"

#include <regimen/layer/join.hpp>
#include <regimen/loss/mean_squared_error.hpp>
#include <regimen/loss/sum_of.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Relu, Fork<Outputs, Linear<4>, Linear<2>>> {};
#else
struct Small : Model<Input<Vector<8>>, Fork<Outputs, Linear<4>, Linear<2>>, Relu> {};
#endif

using Train = Trainer<Small, Loss<SumOf<CrossEntropy, MeanSquaredError>>>;

int main() { return sizeof(Train) == 0; }
