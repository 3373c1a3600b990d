// Prefetching of weights that every rank keeps whole.
// expect: this Shard<\.\.\.> would ignore an option; Prefetch<0\|1> and KeepSegments are for ZeRO3 and Hybrid, Bucket<1 or more> for Replicated
// names: regimen::Shard<regimen::ZeRO2, regimen::Prefetch<0>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Shard<ZeRO3, Prefetch<0>>>;
#else
using Train = Trainer<Net, Communicator<Threads>, Shard<ZeRO2, Prefetch<0>>>;
#endif

int main() { return sizeof(Train) == 0; }
