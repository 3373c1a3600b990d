// A device where a policy belongs.
// expect: Cpu and Cuda are devices, not policies; write Device<Cpu>
// names: regimen::Cpu
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Device<Cpu>>;
#else
using Train = Trainer<Net, Cpu>;
#endif

int main() { return sizeof(Train) == 0; }
