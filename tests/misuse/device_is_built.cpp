// A device whose engine is not built yet.
// expect: the engine of Device<Cuda> is not built yet; write Device<Cpu>
// names: regimen::Device<regimen::Cuda>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Device<Cpu>>;
#else
using Train = Trainer<Net, Device<Cuda>>;
#endif

int main() { return sizeof(Train) == 0; }
