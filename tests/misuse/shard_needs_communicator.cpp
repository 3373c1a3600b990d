// Sharding without a communicator.
// expect: Shard<\.\.\.> says what is exchanged among ranks, and there is no Communicator; write Communicator<Threads>, <Tcp> or <Mpi>
// names: regimen::Shard<regimen::ZeRO3>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Shard<ZeRO3>, Communicator<Threads>>;
#else
using Train = Trainer<Net, Shard<ZeRO3>>;
#endif

int main() { return sizeof(Train) == 0; }
