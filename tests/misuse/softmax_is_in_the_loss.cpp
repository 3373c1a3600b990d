// A classifier that ends with Softmax, as one that is written for Keras does.
// expect: a cross-entropy takes logits, of which it computes the softmax itself; leave out the last Softmax
// names: regimen::Softmax
#include "../support/model_recipe.hpp"

#include <regimen/layer/softmax.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Classifier : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Classifier : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>, Softmax> {};
#endif

using Train = Trainer<Classifier>;

int main() { return sizeof(Train) == 0; }
