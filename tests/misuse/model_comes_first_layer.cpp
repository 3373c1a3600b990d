// A layer in place of a model.
// expect: Trainer begins with a model; write struct Net : Model<Input<\.\.\.>, Layers\.\.\.> {}, and Trainer<Net>
// names: regimen::Linear<4>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
struct Small : Model<Input<Vector<8>>, Linear<4>> {};
using Train = Trainer<Small, Batch<8>>;
#else
using Train = Trainer<Linear<4>, Batch<8>>;
#endif

int main() { return sizeof(Train) == 0; }
