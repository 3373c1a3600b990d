// Saved tensors are to be moved from the host's memory to the host's memory.
// expect: Checkpoint<Offload> moves tensors to the host, whose memory is this Device's; write Every<N>
// names: regimen::Offload
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Checkpoint<Every<1>>>;
#else
using Train = Trainer<Net, Checkpoint<Offload>>;
#endif

int main() { return sizeof(Train) == 0; }
