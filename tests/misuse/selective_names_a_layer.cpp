// Recomputes a layer that the model does not have.
// expect: Selective<\.\.\.> names a layer that this model lacks; name one that it has
// names: regimen::Gelu
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Selective<Linear<8>>>>;
#else
using Train = Trainer<Net, Checkpoint<Selective<Gelu>>>;
#endif

int main() { return sizeof(Train) == 0; }
