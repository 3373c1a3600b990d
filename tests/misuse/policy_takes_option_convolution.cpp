// An option of attention as the form in which a device computes convolutions.
// expect: Convolution<\.\.\.> takes a form; name Direct or Cudnn
// names: regimen::Causal
#include "../support/model_recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Convolution<>>;
#else
using Train = Trainer<Net, Convolution<Causal>>;
#endif

int main() { return sizeof(Train) == 0; }
