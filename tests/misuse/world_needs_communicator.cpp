// Four ranks without a Communicator.
// expect: World<N> has several ranks, and there is no Communicator; write Communicator<Threads>, <Tcp> or <Mpi>
// names: regimen::World<4>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, World<4>, Communicator<Tcp>>;
#else
using Train = Trainer<Net, World<4>>;
#endif

int main() { return sizeof(Train) == 0; }
