// A way of sharding that is not there yet.
// expect: this way of sharding is not built yet; write Shard<Replicated>, <ZeRO1>, <ZeRO2> or <ZeRO3>
// names: regimen::Shard<regimen::Hybrid<4>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Shard<ZeRO3>>;
#else
using Train = Trainer<Net, Communicator<Threads>, Shard<Hybrid<4>>>;
#endif

int main() { return sizeof(Train) == 0; }
