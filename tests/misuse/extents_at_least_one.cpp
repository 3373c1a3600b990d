// A layer without channels.
// expect: this layer has an extent of zero; write extents of at least one
// names: regimen::Linear<0>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Linear<16>, Linear<4>> {};
#else
struct Small : Model<Input<Vector<8>>, Linear<0>, Linear<4>> {};
#endif

using Train = Trainer<Small>;

int main() { return sizeof(Train) == 0; }
