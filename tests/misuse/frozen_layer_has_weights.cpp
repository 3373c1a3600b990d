// Freezes an activation, which has no weights.
// expect: Freeze<\.\.\.> names a layer without weights that would train; leave it out
// names: regimen::Relu
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Active : Model<Input<Vector<8>>, Linear<8>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Active, Freeze<Linear<8>>>;
#else
using Train = Trainer<Active, Freeze<Relu>>;
#endif

int main() { return sizeof(Train) == 0; }
