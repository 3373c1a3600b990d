// A schedule that is not built yet.
// expect: Checkpoint<Offload> is not built yet; write Checkpoint<Every<N>> or Checkpoint<Selective<\.\.\.>>
// names: regimen::Offload
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<1>>>;
#else
using Train = Trainer<Net, Checkpoint<Offload>>;
#endif

int main() { return sizeof(Train) == 0; }
