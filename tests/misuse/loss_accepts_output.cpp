// Two classes in one number: the softmax of one logit is always 1.
// expect: this loss does not read such an output; write another Loss<\.\.\.>, or another last layer
// names: regimen::CrossEntropy
// names: regimen::Shape<1>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Yes : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<1>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Yes, Loss<MeanSquaredError>>;
#else
using Train = Trainer<Yes, Loss<CrossEntropy>>;
#endif

int main() { return sizeof(Train) == 0; }
