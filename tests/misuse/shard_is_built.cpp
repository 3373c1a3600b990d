// A stage of sharding that is not there yet.
// expect: Shard<Replicated> is the only one built yet; write it, or leave Shard out
// names: regimen::Shard<regimen::ZeRO3>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Shard<Replicated>>;
#else
using Train = Trainer<Net, Shard<ZeRO3>>;
#endif

int main() { return sizeof(Train) == 0; }
