// A stage of sharding where a policy belongs.
// expect: ZeRO3 and the others are stages, not policies; write Shard<\.\.\.> around them
// names: regimen::Replicated
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Shard<Replicated>>;
#else
using Train = Trainer<Net, Replicated>;
#endif

int main() { return sizeof(Train) == 0; }
