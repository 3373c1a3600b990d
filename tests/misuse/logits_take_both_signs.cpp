// An activation behind the last product of a classifier.
// expect: this loss takes logits of both signs, and the last layer gives none below 0; leave it out
// names: regimen::Relu
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Classifier : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#else
struct Classifier : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>, Relu> {};
#endif

using Train = Trainer<Classifier>;

int main() { return sizeof(Train) == 0; }
