// Fifty samples for four ranks.
// expect: GlobalBatch<N> is cut into World<R> times Accumulate<K> equal parts; name the World, and an N that these divide
// names: regimen::GlobalBatch<50>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, GlobalBatch<48>, World<4>, Communicator<Threads>>;
#else
using Train = Trainer<Net, GlobalBatch<50>, World<4>, Communicator<Threads>>;
#endif

int main() { return sizeof(Train) == 0; }
