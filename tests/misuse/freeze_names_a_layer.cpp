// A layer is frozen that the model has not.
// expect: Freeze<\.\.\.> names a layer that this model has not; name one that it has
// names: regimen::Linear<16>
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Freeze<Linear<8>>>;
#else
using Train = Trainer<Net, Freeze<Linear<16>>>;
#endif

int main() { return sizeof(Train) == 0; }
