// Six ranks in groups of four.
// expect: Hybrid<N> makes groups of N ranks; write an N of at least 2 that divides the World
// names: regimen::Shard<regimen::Hybrid<4>
// names: regimen::World<6>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, World<6>, Shard<Hybrid<3>>>;
#else
using Train = Trainer<Net, Communicator<Threads>, World<6>, Shard<Hybrid<4>>>;
#endif

int main() { return sizeof(Train) == 0; }
