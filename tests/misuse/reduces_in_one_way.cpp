// ReduceOnce and ReduceEach together.
// expect: Accumulate<N, \.\.\.> takes ReduceOnce or ReduceEach; keep one of them
// names: regimen::Accumulate<2, regimen::ReduceOnce, regimen::ReduceEach>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Communicator<Threads>, Accumulate<2, ReduceOnce>>;
#else
using Train = Trainer<Net, Communicator<Threads>, Accumulate<2, ReduceOnce, ReduceEach>>;
#endif

int main() { return sizeof(Train) == 0; }
