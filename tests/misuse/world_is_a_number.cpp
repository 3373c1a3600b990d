// Two numbers of ranks.
// expect: World<N> takes one number, and N >= 1; write World<4>, or leave it out
// names: regimen::World<2, 3>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, World<2>>;
#else
using Train = Trainer<Net, Communicator<Threads>, World<2, 3>>;
#endif

int main() { return sizeof(Train) == 0; }
