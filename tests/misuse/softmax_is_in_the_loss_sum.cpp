// Two outputs; the branch of classes ends with Softmax.
// expect: a cross-entropy takes logits, of which it computes the softmax itself; leave out the last Softmax
// names: regimen::SmoothedCrossEntropy<regimen::in_order::Ratio<1, 10>>
#include "../support/model_recipe.hpp"

#include <regimen/layer/softmax.hpp>
#include <regimen/loss/sum_of.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Classes = Linear<4>;
#else
using Classes = Sequential<Linear<4>, Softmax>;
#endif
struct Both : Model<Input<Vector<8>>, Linear<16>, Relu, Fork<Outputs, Classes, Linear<2>>> {};

using Train = Trainer<Both, Loss<SumOf<SmoothedCrossEntropy<Ratio<1, 10>>, MeanSquaredError>>>;

int main() { return sizeof(Train) == 0; }
