// Sharding over a single rank.
// expect: Shard<\.\.\.> says what is exchanged among ranks, and World<1> is one; write more, or leave World out
// names: regimen::Shard<regimen::ZeRO3>
// names: regimen::World<1>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Shard<ZeRO3>, World<2>>;
#else
using Train = Trainer<Net, Communicator<Threads>, Shard<ZeRO3>, World<1>>;
#endif

int main() { return sizeof(Train) == 0; }
