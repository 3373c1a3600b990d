// A layer among the policies.
// expect: a layer is a part of the model, not a policy; write it inside Model<\.\.\.>
// names: regimen::Linear<4>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Batch<8>>;
#else
using Train = Trainer<Net, Batch<8>, Linear<4>>;
#endif

int main() { return sizeof(Train) == 0; }
