// A Frozen around an activation, which has no weights.
// expect: Frozen<\.\.\.> holds no layer with weights, so nothing would be frozen; leave it out
// names: regimen::Relu
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Tuned : Model<Input<Vector<8>>, Frozen<Linear<8>, Relu>, Linear<4>> {};
#else
struct Tuned : Model<Input<Vector<8>>, Linear<8>, Frozen<Relu>, Linear<4>> {};
#endif

using Train = Trainer<Tuned>;

int main() { return sizeof(Train) == 0; }
