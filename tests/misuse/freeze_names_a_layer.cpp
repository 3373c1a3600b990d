// Freezes a layer that the model does not have.
// expect: Freeze<\.\.\.> names a layer that this model lacks; name one that it has
// names: regimen::Linear<16>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Freeze<Linear<8>>>;
#else
using Train = Trainer<Net, Freeze<Linear<16>>>;
#endif

int main() { return sizeof(Train) == 0; }
