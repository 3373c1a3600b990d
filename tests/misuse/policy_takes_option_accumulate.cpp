// Another type in place of ReduceOnce or ReduceEach.
// expect: Accumulate<N, \.\.\.> takes when to reduce; name ReduceOnce or ReduceEach, or leave it out
// names: regimen::Every<2>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Accumulate<4, ReduceEach>>;
#else
using Train = Trainer<Net, Accumulate<4, Every<2>>>;
#endif

int main() { return sizeof(Train) == 0; }
