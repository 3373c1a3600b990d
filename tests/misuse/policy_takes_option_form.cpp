// The heads of a layer as the form in which a device computes attention.
// expect: Attention<\.\.\.> takes a form; name Tiled, Composed or Cudnn
// names: regimen::Causal
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Attention<Tiled>>;
#else
using Train = Trainer<Net, Attention<Causal>>;
#endif

int main() { return sizeof(Train) == 0; }
