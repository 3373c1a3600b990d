// Weights that are whole are gathered ahead.
// expect: Shard<S, \.\.\.> takes Prefetch<0> or <1>, and KeepSegments, where S keeps slices of the weights; name ZeRO3 or Hybrid<K>
// names: regimen::Shard<regimen::ZeRO2, regimen::Prefetch<0>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Shard<ZeRO3, Prefetch<0>>>;
#else
using Train = Trainer<Net, Communicator<Threads>, Shard<ZeRO2, Prefetch<0>>>;
#endif

int main() { return sizeof(Train) == 0; }
