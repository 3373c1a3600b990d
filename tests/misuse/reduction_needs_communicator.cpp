// A single rank with ReduceEach.
// expect: ReduceOnce and ReduceEach say when ranks sum gradients; write Communicator<\.\.\.>, or Accumulate<N> alone
// names: regimen::Accumulate<2, regimen::ReduceEach>
#include "../support/recipe.hpp"

using namespace regimen;

#ifndef REGIMEN_MISUSE
using Train = Trainer<Net, Accumulate<2>>;
#else
using Train = Trainer<Net, Accumulate<2, ReduceEach>>;
#endif

int main() { return sizeof(Train) == 0; }
