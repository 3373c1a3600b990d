// Questions with the answers yes and no, and a model that ends with Sigmoid.
// expect: BinaryCrossEntropy takes logits, of which it computes the sigmoid itself; leave out the last Sigmoid
// names: regimen::Sigmoid
#include "../support/model_recipe.hpp"

#include <regimen/loss/pointwise.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Questions : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Questions : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>, Sigmoid> {};
#endif

using Train = Trainer<Questions, Loss<BinaryCrossEntropy>>;

int main() { return sizeof(Train) == 0; }
