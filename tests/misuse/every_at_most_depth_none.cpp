// Segments of blocks in a model without a Repeat.
// expect: Every<N> counts the blocks of a Repeat, and this model has none; add a Repeat, or write Selective<\.\.\.>
// names: regimen::Every<1>
#include "../support/model_recipe.hpp"

using namespace regimen;

struct Mlp : Model<Input<Vector<8>>, Linear<16>, Relu, Linear<4>> {};
#ifndef REGIMEN_MISUSE
using Train = Trainer<Mlp, Checkpoint<Selective<Relu>>>;
#else
using Train = Trainer<Mlp, Checkpoint<Every<1>>>;
#endif

int main() { return sizeof(Train) == 0; }
