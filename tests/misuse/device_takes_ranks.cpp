// A GPU for each rank, connected by the hosts.
// expect: this communicator does not reach the memory of this device; write Communicator<Nccl>
// names: regimen::Communicator<regimen::Tcp>
#include "../support/recipe.hpp"

#include <regimen/engine/cuda/plan.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Tcp>, Device<Cpu>>;
#else
using Train = Trainer<Net, Communicator<Tcp>, Device<Cuda>>;
#endif

int main() { return sizeof(Train) == 0; }
