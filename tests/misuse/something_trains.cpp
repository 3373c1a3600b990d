// Everything is frozen.
// expect: no parameter of this model trains; add a layer with weights, freeze fewer layers, or write Inference<\.\.\.>
// names: Net
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Freeze<Linear<8>>>;
#else
using Train = Trainer<Net, Freeze<Linear<8>, Linear<4>>>;
#endif

int main() { return sizeof(Train) == 0; }
