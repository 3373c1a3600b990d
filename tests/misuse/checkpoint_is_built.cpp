// A schedule that is not built yet.
// expect: Checkpoint<Offload> is not built yet; write Checkpoint<Every<N>> or Checkpoint<Budget<80_GiB>>
// names: regimen::Offload
#include "../support/recipe.hpp"

#include <regimen/engine/cuda/plan.hpp>

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<1>>, Device<Cuda>>;
#else
using Train = Trainer<Net, Checkpoint<Offload>, Device<Cuda>>;
#endif

int main() { return sizeof(Train) == 0; }
