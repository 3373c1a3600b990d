// Several ranks on a device without collectives.
// expect: this Device<\.\.\.> has no collectives yet; train one rank on it, or write Device<Cpu>
// names: regimen::Device<regimen::Cuda>
#include "../support/recipe.hpp"

#include <regimen/engine/cuda/plan.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Device<Cpu>>;
#else
using Train = Trainer<Net, Communicator<Threads>, Device<Cuda>>;
#endif

int main() { return sizeof(Train) == 0; }
