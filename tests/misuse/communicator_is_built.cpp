// Ranks that cannot speak to one another yet.
// expect: Communicator<Solo> is the only one built yet; write it, or leave Communicator out
// names: regimen::Communicator<regimen::Nccl>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Solo>>;
#else
using Train = Trainer<Net, Communicator<Nccl>>;
#endif

int main() { return sizeof(Train) == 0; }
