// A device whose header is not included.
// expect: this Device<\.\.\.> has no engine here; include its header \(regimen/engine/cuda/device\.cuh for Cuda\)
// names: regimen::Device<regimen::Cuda>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Device<Cpu>>;
#else
using Train = Trainer<Net, Device<Cuda>>;
#endif

int main() { return sizeof(Train) == 0; }
